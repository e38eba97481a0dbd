// A file mapped read-only, so that weights are used where they lie on disk and the page cache is
// the only copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace mlxcel::base {

class MappedFile {
 public:
  // Throws kNotFound when the file is absent, kBadInput when it is not a regular file, kResource
  // when it cannot be mapped. An empty file gives an empty span.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size);

  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace mlxcel::base
