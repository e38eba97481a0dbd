// libFuzzer target: whatever the bytes, parsing throws an Error or gives tensors that can be read
// from end to end. Seeds lie in tests/fuzz/safetensors.
#include "base/error.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    uint64_t sum = 0;
    for (const auto& tensor : mlxcel::checkpoint::parse_safetensors(bytes, "fuzz")) {
      for (const std::byte byte : tensor.data) sum += std::to_integer<uint64_t>(byte);
      sum += static_cast<uint64_t>(tensor.elements()) + mlxcel::checkpoint::describe(tensor).size();
    }
    volatile uint64_t used = sum;  // keeps the reads
    (void)used;
  } catch (const mlxcel::base::Error& error) {
    const std::string_view message = error.what();
    if (message.find('\n') != std::string_view::npos) __builtin_trap();
  }
  return 0;
}
