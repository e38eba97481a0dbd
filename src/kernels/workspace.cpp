#include "kernels/workspace.h"

#include <array>
#include <memory>
#include <new>

#include "base/error.h"

namespace mlxcel::kernels {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSlack = 64;  // floats past the end that vector code may touch

struct AlignedDelete {
  void operator()(float* p) const { ::operator delete(p, std::align_val_t(kAlign)); }
};

struct Buffer {
  std::unique_ptr<float, AlignedDelete> data;
  size_t capacity = 0;
};

}  // namespace

float* scratch_floats(Slot slot, size_t count) {
  thread_local std::array<Buffer, static_cast<size_t>(Slot::kCount)> buffers;
  Buffer& buffer = buffers[static_cast<size_t>(slot)];
  const size_t wanted = count + kSlack;
  if (buffer.capacity < wanted) {
    buffer.data.reset();
    buffer.capacity = 0;
    buffer.data.reset(
        static_cast<float*>(::operator new(wanted * sizeof(float), std::align_val_t(kAlign))));
    buffer.capacity = wanted;
  }
  return buffer.data.get();
}

}  // namespace mlxcel::kernels
