// Scratch memory of the kernels: one buffer a thread and purpose, which grows to the largest size
// that was asked for and is kept until the thread ends. Kernels allocate nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxcel::kernels {

// Buffers of different slots may be in use at the same time. kShared is filled by the calling
// thread and read by all workers of one call; the others belong to one task.
enum class Slot { kShared, kShared2, kPanel, kTile, kRow, kTask, kCount };

// At least `count` uninitialised floats, aligned to 64 bytes, valid until the next call for this
// slot by this thread. A few vectors more than `count` may be read and written past the end.
float* scratch_floats(Slot slot, size_t count);

}  // namespace mlxcel::kernels
