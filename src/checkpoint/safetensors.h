// Reader of safetensors files, mapped and checked. The file is untrusted: every size is verified
// with overflow-safe arithmetic before it is used, and the data of all tensors must tile the
// payload without gap or overlap. Format: https://github.com/huggingface/safetensors (8-byte
// little-endian header length, JSON header, payload).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/mapped_file.h"

namespace mlxcel::checkpoint {

// A tensor in a mapped file. `data` may be unaligned for its type. Copies share the mapping.
struct Tensor {
  std::string name;
  base::DType dtype = base::DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;

  int64_t elements() const;
};

// "[1024, 768] BF16", for messages.
std::string describe(const Tensor& tensor);
std::string describe_shape(std::span<const int64_t> shape);

// Tensors of a file image, in the header's order; their names differ and are printable ASCII.
// `file` opens error messages. Throws kBadInput for anything that is not well formed, kUnsupported
// for an element type that is not read here.
std::vector<Tensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

// The same for a mapped file; the tensors keep it mapped.
std::vector<Tensor> open_safetensors(const std::filesystem::path& path);

}  // namespace mlxcel::checkpoint
