// Operations that treat each element alone: activations, sums, products, and the ends of linear
// layers.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/internal.h"
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// y[i] = op(a[i], b[i]); the last few elements pass through a padded vector, so that each element's
// result does not depend on its place.
template <typename Op>
HWY_INLINE void for_each(const float* a, const float* b, int64_t count, float* y, const Op& op) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(op(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  if (i == count) return;
  HWY_ALIGN float last_a[kLanes] = {};
  HWY_ALIGN float last_b[kLanes] = {};
  const auto bytes = static_cast<size_t>(count - i) * sizeof(float);
  std::memcpy(last_a, a + i, bytes);
  std::memcpy(last_b, b + i, bytes);
  hn::Store(op(hn::Load(d, last_a), hn::Load(d, last_b)), d, last_a);
  std::memcpy(y + i, last_a, bytes);
}

template <Activation kActivation>
struct Activate {
  HWY_INLINE VF operator()(VF a, VF /*b*/) const { return activate_f32(kActivation, a); }
};
struct Plus {
  HWY_INLINE VF operator()(VF a, VF b) const { return hn::Add(a, b); }
};
struct Times {
  HWY_INLINE VF operator()(VF a, VF b) const { return hn::Mul(a, b); }
};
struct SwiGlu {
  HWY_INLINE VF operator()(VF gate, VF up) const { return hn::Mul(silu_f32(gate, 1.0f), up); }
};

HWY_NOINLINE void ActivateRange(Activation activation, const float* x, int64_t count, float* y) {
  switch (activation) {
    case Activation::kNone:
      if (x != y) std::memmove(y, x, static_cast<size_t>(count) * sizeof(float));
      return;
    case Activation::kGeluErf:
      return for_each(x, x, count, y, Activate<Activation::kGeluErf>());
    case Activation::kGeluTanh:
      return for_each(x, x, count, y, Activate<Activation::kGeluTanh>());
    case Activation::kQuickGelu:
      return for_each(x, x, count, y, Activate<Activation::kQuickGelu>());
    case Activation::kSilu:
      return for_each(x, x, count, y, Activate<Activation::kSilu>());
  }
}

void AddRange(const float* a, const float* b, int64_t count, float* y) {
  for_each(a, b, count, y, Plus());
}

void MulRange(const float* a, const float* b, int64_t count, float* y) {
  for_each(a, b, count, y, Times());
}

void FinishTile(float* tile, int64_t tile_stride, int64_t rows, int64_t columns,
                const Epilogue& epilogue, float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    float* source = tile + r * tile_stride;
    float* y = out + r * out_stride;
    const float* residual =
        epilogue.residual == nullptr ? nullptr : epilogue.residual + r * out_stride;
    // The residual may be the output itself, so that steps before it must stay inside the tile.
    float* stage = residual == nullptr ? y : source;
    if (epilogue.bias != nullptr) {
      for_each(source, epilogue.bias, columns, stage, Plus());
      source = stage;
    }
    if (epilogue.activation != Activation::kNone) {
      ActivateRange(epilogue.activation, source, columns, stage);
      source = stage;
    }
    if (residual != nullptr) {
      for_each(source, residual, columns, y, Plus());
    } else if (source != y) {
      std::memcpy(y, source, static_cast<size_t>(columns) * sizeof(float));
    }
  }
}

void FinishSwiglu(const float* gate, const float* up, int64_t tile_stride, int64_t rows,
                  int64_t columns, float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each(gate + r * tile_stride, up + r * tile_stride, columns, out + r * out_stride, SwiGlu());
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlxcel::kernels {
namespace {

HWY_EXPORT(ActivateRange);
HWY_EXPORT(AddRange);
HWY_EXPORT(MulRange);
HWY_EXPORT(FinishTile);
HWY_EXPORT(FinishSwiglu);

constexpr int64_t kTaskElements = 16 * 1024;

// range(begin, count) over pieces of a fixed size.
template <typename Range>
void for_ranges(int64_t count, base::ThreadPool& pool, const Range& range) {
  if (count <= 0) return;
  pool.run(static_cast<size_t>(ceil_div(count, kTaskElements)), [&](size_t task) {
    const int64_t begin = static_cast<int64_t>(task) * kTaskElements;
    range(begin, std::min(kTaskElements, count - begin));
  });
}

}  // namespace

void activate(Activation activation, const float* x, int64_t count, float* y,
              base::ThreadPool& pool) {
  for_ranges(count, pool, [&](int64_t begin, int64_t size) {
    HWY_DYNAMIC_DISPATCH(ActivateRange)(activation, x + begin, size, y + begin);
  });
}

void add(const float* a, const float* b, int64_t count, float* y, base::ThreadPool& pool) {
  for_ranges(count, pool, [&](int64_t begin, int64_t size) {
    HWY_DYNAMIC_DISPATCH(AddRange)(a + begin, b + begin, size, y + begin);
  });
}

void mul(const float* a, const float* b, int64_t count, float* y, base::ThreadPool& pool) {
  for_ranges(count, pool, [&](int64_t begin, int64_t size) {
    HWY_DYNAMIC_DISPATCH(MulRange)(a + begin, b + begin, size, y + begin);
  });
}

void finish_tile(float* tile, int64_t tile_stride, int64_t rows, int64_t columns,
                 const Epilogue& epilogue, float* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(FinishTile)(tile, tile_stride, rows, columns, epilogue, out, out_stride);
}

void finish_swiglu(const float* gate, const float* up, int64_t tile_stride, int64_t rows,
                   int64_t columns, float* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(FinishSwiglu)(gate, up, tile_stride, rows, columns, out, out_stride);
}

}  // namespace mlxcel::kernels
#endif  // HWY_ONCE
