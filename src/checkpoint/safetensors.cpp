#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

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

// The items of a short list. Its length is checked before each item gets a name for messages.
std::vector<base::JsonField> short_list(const base::JsonField& field, size_t most) {
  const base::Json& value = field.value();
  if (value.is_array() && value.size() > most) {
    throw bad_input("{} has {} numbers, expected at most {}", field.where(), value.size(), most);
  }
  return field.as_list();
}

Tensor parse_entry(const std::string& name, const base::Json& value,
                   std::span<const std::byte> payload, const std::string& file) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    throw bad_input("{}: a tensor name has {} bytes, expected 1..{}", file, name.size(),
                    kMaxNameBytes);
  }
  const std::string where = fmt::format("{}: tensor '{}'", file, base::printable(name));
  if (!base::is_plain(name))
    throw bad_input("{} has characters in its name that are not printable ASCII", where);
  const base::JsonField entry(value, where);
  Tensor tensor;
  tensor.name = name;
  const std::string type = entry.at("dtype").as_string();
  const auto dtype = base::parse_dtype(type);
  if (!dtype)
    throw base::unsupported("{} has element type '{}', which is not supported", where,
                            base::printable(type));
  tensor.dtype = *dtype;
  for (const auto& dim : short_list(entry.at("shape"), kMaxRank))
    tensor.shape.push_back(dim.as_int(0));

  const auto offsets = short_list(entry.at("data_offsets"), 2);
  if (offsets.size() != 2) {
    throw bad_input("{} has {} numbers, expected 2", entry.at("data_offsets").where(),
                    offsets.size());
  }
  const auto begin = static_cast<uint64_t>(offsets[0].as_int(0));
  const auto end = static_cast<uint64_t>(offsets[1].as_int(0));
  if (begin > end || end > payload.size()) {
    throw bad_input("{} lies at bytes {}..{} of a payload of {} bytes", where, begin, end,
                    payload.size());
  }
  uint64_t expected = 0;
  if (!checked_bytes(tensor.shape, base::dtype_size(*dtype), expected)) {
    throw bad_input("{} has dimensions {}, which overflow", where, describe_shape(tensor.shape));
  }
  if (expected != end - begin) {
    throw bad_input("{} is {} ({} bytes), but its offsets span {} bytes", where, describe(tensor),
                    expected, end - begin);
  }
  tensor.data = payload.subspan(begin, end - begin);
  return tensor;
}

// The one member of the header that is no tensor: free text by name.
void check_metadata(const base::Json& metadata, const std::string& file) {
  const auto is_string = [](const base::Json& value) { return value.is_string(); };
  const bool strings =
      metadata.is_object() && std::all_of(metadata.begin(), metadata.end(), is_string);
  if (!strings && !metadata.is_null()) {
    throw bad_input("{}: '__metadata__' is not an object of strings", file);
  }
}

// The format demands that tensors cover the payload exactly.
void check_tiling(std::vector<Extent> extents, uint64_t payload, const std::string& file) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t position = 0;
  for (const Extent& extent : extents) {
    if (extent.begin < position) {
      throw bad_input("{}: tensor '{}' overlaps the one before it (starts at byte {}, expected {})",
                      file, *extent.name, extent.begin, position);
    }
    if (extent.begin > position) {
      throw bad_input("{}: {} unused bytes before tensor '{}'", file, extent.begin - position,
                      *extent.name);
    }
    position = extent.end;
  }
  if (position != payload)
    throw bad_input("{}: {} bytes after the last tensor", file, payload - position);
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
  if (bytes.size() < 8)
    throw bad_input("{}: {} bytes, too short for a safetensors header", file, bytes.size());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - 8) {
    throw bad_input("{}: header of {} bytes in a file of {} bytes (limit {})", file, header_bytes,
                    bytes.size(), kMaxHeaderBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  // The format wants the brace first: no white space, no byte order mark.
  if (!text.starts_with('{')) throw bad_input("{}: the header is not a JSON object", file);
  const base::Json header = base::parse_json(text, file + ": header");
  const auto payload = bytes.subspan(8 + header_bytes);

  std::vector<Tensor> tensors;
  std::vector<Extent> extents;
  tensors.reserve(header.size());
  extents.reserve(header.size());
  for (const auto& [name, value] : header.get_ref<const base::Json::object_t&>()) {
    if (name == "__metadata__") {
      check_metadata(value, file);
      continue;
    }
    tensors.push_back(parse_entry(name, value, payload, file));
    const auto begin = static_cast<uint64_t>(tensors.back().data.data() - payload.data());
    extents.push_back({begin, begin + tensors.back().data.size(), &name});
  }
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
