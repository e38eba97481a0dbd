#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace mlxcel::checkpoint {
namespace {

using base::bad_input;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxRank = 8;
constexpr size_t kMaxNameBytes = 512;

// Product of the dimensions times the element size; false on overflow of int64.
bool checked_bytes(const std::vector<int64_t>& shape, size_t element_size, uint64_t& bytes) {
  int64_t total = static_cast<int64_t>(element_size);
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(total, dim, &total)) return false;
  }
  bytes = static_cast<uint64_t>(total);
  return true;
}

struct Extent {
  uint64_t begin;
  uint64_t end;
  const std::string* name;
};

Tensor parse_entry(const std::string& name, const base::JsonField& entry, std::span<const std::byte> payload) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    throw bad_input("{}: a tensor name has {} bytes, expected 1..{}", entry.file(), name.size(), kMaxNameBytes);
  }
  Tensor tensor;
  tensor.name = name;
  const std::string type = entry.at("dtype").as_string();
  const auto dtype = base::parse_dtype(type);
  if (!dtype) {
    throw base::unsupported("{}: tensor '{}' has element type '{}', which is not supported", entry.file(), name,
                            type.substr(0, 20));
  }
  tensor.dtype = *dtype;
  const auto dims = entry.at("shape").as_list();
  if (dims.size() > kMaxRank) {
    throw bad_input("{}: tensor '{}' has {} dimensions, expected at most {}", entry.file(), name, dims.size(), kMaxRank);
  }
  for (const auto& dim : dims) tensor.shape.push_back(dim.as_int(0));

  const auto offsets = entry.at("data_offsets").as_list();
  if (offsets.size() != 2) {
    throw bad_input("{} has {} numbers, expected 2", entry.at("data_offsets").where(), offsets.size());
  }
  const auto begin = static_cast<uint64_t>(offsets[0].as_int(0));
  const auto end = static_cast<uint64_t>(offsets[1].as_int(0));
  if (begin > end || end > payload.size()) {
    throw bad_input("{}: tensor '{}' lies at bytes {}..{} of a payload of {} bytes", entry.file(), name, begin, end,
                    payload.size());
  }
  uint64_t expected = 0;
  if (!checked_bytes(tensor.shape, base::dtype_size(*dtype), expected)) {
    throw bad_input("{}: the dimensions {} of tensor '{}' overflow", entry.file(), describe_shape(tensor.shape), name);
  }
  if (expected != end - begin) {
    throw bad_input("{}: tensor '{}' is {} ({} bytes), but its offsets span {} bytes", entry.file(), name,
                    describe(tensor), expected, end - begin);
  }
  tensor.data = payload.subspan(begin, end - begin);
  return tensor;
}

// The format demands that tensors cover the payload exactly.
void check_tiling(std::vector<Extent> extents, uint64_t payload, const std::string& file) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t position = 0;
  for (const Extent& extent : extents) {
    if (extent.begin < position) {
      throw bad_input("{}: tensor '{}' overlaps the one before it (starts at byte {}, expected {})", file, *extent.name,
                      extent.begin, position);
    }
    if (extent.begin > position) {
      throw bad_input("{}: {} unused bytes before tensor '{}'", file, extent.begin - position, *extent.name);
    }
    position = extent.end;
  }
  if (position != payload) throw bad_input("{}: {} bytes after the last tensor", file, payload - position);
}

}  // namespace

int64_t Tensor::elements() const {
  int64_t total = 1;
  for (const int64_t dim : shape) total *= dim;
  return total;
}

std::string describe_shape(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{} {}", describe_shape(tensor.shape), base::dtype_name(tensor.dtype));
}

std::vector<Tensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  static_assert(std::endian::native == std::endian::little, "tensors are used in place");
  if (bytes.size() < 8) throw bad_input("{}: {} bytes, too short for a safetensors header", file, bytes.size());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - 8) {
    throw bad_input("{}: header of {} bytes in a file of {} bytes (limit {})", file, header_bytes, bytes.size(),
                    kMaxHeaderBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  const base::Json header = base::parse_json(text, file);
  if (!header.is_object()) throw bad_input("{}: the header is not a JSON object", file);
  const auto payload = bytes.subspan(8 + header_bytes);

  std::vector<Tensor> tensors;
  std::vector<Extent> extents;
  tensors.reserve(header.size());
  extents.reserve(header.size());
  const base::JsonField root(header, file);
  for (const auto& item : header.items()) {
    if (item.key() == "__metadata__") continue;
    tensors.push_back(parse_entry(item.key(), base::JsonField(item.value(), file), payload));
    const auto begin = static_cast<uint64_t>(tensors.back().data.data() - payload.data());
    extents.push_back({begin, begin + tensors.back().data.size(), &item.key()});
  }
  for (size_t i = 0; i < tensors.size(); ++i) extents[i].name = &tensors[i].name;
  check_tiling(std::move(extents), payload.size(), file);
  return tensors;
}

std::vector<Tensor> open_safetensors(const std::filesystem::path& path) {
  const auto mapped = base::MappedFile::open(path);
  auto tensors = parse_safetensors(mapped->bytes(), path.string());
  for (Tensor& tensor : tensors) tensor.owner = mapped;
  return tensors;
}

}  // namespace mlxcel::checkpoint
