#include "base/file.h"

#include "base/error.h"
#include "base/mapped_file.h"

namespace mlxcel::base {

std::string read_file(const std::filesystem::path& path, size_t max_bytes) {
  const auto mapped = MappedFile::open(path);
  const auto bytes = mapped->bytes();
  if (bytes.size() > max_bytes) {
    throw bad_input("{}: {} bytes, expected at most {}", path.string(), bytes.size(), max_bytes);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace mlxcel::base
