// Speed of the kernels at the shapes of real models, beside the limits of the machine that they are
// bound by, measured in the same run: kernels_bench [threads] [substring of a case's name].
// With one thread, time is CPU time, so that figures hold on a busy machine too.
#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kernels_bench.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mlxcel::kernels {
namespace HWY_NAMESPACE {

// Sum of the 32-bit words at p: a stream read. `bytes` is a multiple of 256.
float ReadStream(const uint8_t* p, size_t bytes) {
  const DI di;
  VI sums[4] = {hn::Zero(di), hn::Zero(di), hn::Zero(di), hn::Zero(di)};
  constexpr size_t kVector = sizeof(float) * static_cast<size_t>(kLanes);
  for (size_t i = 0; i < bytes; i += 4 * kVector) {
    for (size_t u = 0; u < 4; ++u) {
      prefetch(p + i + u * kVector + 4096);
      sums[u] =
          hn::Xor(sums[u], hn::LoadU(di, reinterpret_cast<const int32_t*>(p + i + u * kVector)));
    }
  }
  const VI all = hn::Xor(hn::Xor(sums[0], sums[1]), hn::Xor(sums[2], sums[3]));
  return static_cast<float>(hn::GetLane(all));
}

// `rounds` times 12 independent FMAs on registers; returns the number of operations (2 a lane).
double FmaLoop(size_t rounds, float* sink) {
  const DF d;
  const VF x = hn::Set(d, *sink);
  // Different starts, or the compiler would keep one chain only.
  const auto start = [&](int i) HWY_ATTR { return hn::Set(d, *sink * static_cast<float>(i)); };
  VF a0 = start(0), a1 = start(1), a2 = start(2), a3 = start(3), a4 = start(4), a5 = start(5);
  VF a6 = start(6), a7 = start(7), a8 = start(8), a9 = start(9), a10 = start(10), a11 = start(11);
  for (size_t i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, x, x);
    a1 = hn::MulAdd(a1, x, x);
    a2 = hn::MulAdd(a2, x, x);
    a3 = hn::MulAdd(a3, x, x);
    a4 = hn::MulAdd(a4, x, x);
    a5 = hn::MulAdd(a5, x, x);
    a6 = hn::MulAdd(a6, x, x);
    a7 = hn::MulAdd(a7, x, x);
    a8 = hn::MulAdd(a8, x, x);
    a9 = hn::MulAdd(a9, x, x);
    a10 = hn::MulAdd(a10, x, x);
    a11 = hn::MulAdd(a11, x, x);
  }
  const VF s0 = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(a4, a5));
  const VF s1 = hn::Add(hn::Add(hn::Add(a6, a7), hn::Add(a8, a9)), hn::Add(a10, a11));
  *sink = sum_lanes(hn::Add(s0, s1));
  return static_cast<double>(rounds) * 12 * 2 * static_cast<double>(kLanes);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace mlxcel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>

#include "kernels/dispatch.h"
#include "kernels/kernels.h"

namespace mlxcel::kernels {
namespace {

HWY_EXPORT(ReadStream);
HWY_EXPORT(FmaLoop);

using base::DType;

double seconds(bool cpu_time) {
  if (cpu_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best of several runs, in seconds: other processes may be using the machine.
double best_time(bool cpu_time, const std::function<void()>& body) {
  body();
  double best = 1e30;
  double total = 0;
  for (int i = 0; i < 200 && (i < 3 || total < 0.4); ++i) {
    const double begin = seconds(cpu_time);
    body();
    const double time = std::max(1e-7, seconds(cpu_time) - begin);
    best = std::min(best, time);
    total += time;
  }
  return best;
}

class Bench {
 public:
  Bench(int threads, std::string filter)
      : pool_(threads), filter_(std::move(filter)), memory_(1u << 29) {
    std::mt19937 engine(1);
    // Scales and 16-bit floats are read from here too: keep every 16-bit half a modest number.
    for (size_t i = 0; i + 2 <= memory_.size(); i += 2) {
      memory_[i] = static_cast<uint8_t>(engine());
      memory_[i + 1] = static_cast<uint8_t>(0x30 + engine() % 8);
    }
    x_.resize(64u << 20);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 37) * 0.01f - 0.2f;
    y_.resize(64u << 20);
  }

  void limits() {
    const auto parts = static_cast<size_t>(pool_.threads());
    const double read = best_time(pool_.threads() == 1, [&] {
      pool_.run(64, [&](size_t i) {
        const size_t size = memory_.size() / 64;
        y_[i] = HWY_DYNAMIC_DISPATCH(ReadStream)(memory_.data() + i * size, size);
      });
    });
    gigabytes_ = static_cast<double>(memory_.size()) / read * 1e-9;
    std::vector<double> operations(parts);
    const double fma = best_time(pool_.threads() == 1, [&] {
      pool_.run(parts, [&](size_t i) {
        float sink = 1e-3f;
        operations[i] = HWY_DYNAMIC_DISPATCH(FmaLoop)(4'000'000, &sink);
        y_[i] = sink;
      });
    });
    double sum = 0;
    for (const double value : operations) sum += value;
    gigaflops_ = sum / fma * 1e-9;
    fmt::print("{} threads, {}: stream read {:.1f} GB/s, f32 FMA {:.0f} GFLOPS\n", pool_.threads(),
               active_target(), gigabytes_, gigaflops_);
  }

  // Small matrices take the same memory each time and stay in cache when `cold` is false.
  void linear_case(int bits, DType dtype, int64_t rows, int64_t out, int64_t in, bool cold = true) {
    WeightView w;
    w.dtype = dtype;
    w.out = out;
    w.in = in;
    w.bits = bits;
    w.group_size = bits == 0 ? 0 : 64;
    const auto size = static_cast<int64_t>(base::dtype_size(dtype));
    const int64_t data = bits == 0 ? out * in * size : out * in * bits / 8;
    const int64_t parameters = bits == 0 ? 0 : out * in / 64 * size;
    const int64_t total = data + 2 * parameters;
    // Each call takes another part of memory, so that no cache holds the weights.
    const auto copies = cold ? static_cast<int64_t>(memory_.size()) / total : 1;
    int64_t copy = 0;
    const std::string name = fmt::format("linear {} rows {:<4} {}x{}{}", format_name(bits, dtype),
                                         rows, in, out, cold ? "" : " in cache");
    report(name, static_cast<double>(total), 2.0 * static_cast<double>(rows * out * in), [&] {
      const uint8_t* base = memory_.data() + copy * total;
      copy = (copy + 1) % copies;
      w.data = base;
      w.scales = base + data;
      w.biases = base + data + parameters;
      linear(x_.data(), rows, w, {}, y_.data(), pool_);
    });
  }

  void decode_attention(DType dtype, int64_t context, int64_t heads, int64_t kv_heads,
                        int64_t dim) {
    constexpr int64_t kBlock = 256;
    const int64_t block_bytes =
        kv_heads * kBlock * dim * static_cast<int64_t>(base::dtype_size(dtype));
    const int64_t blocks = context / kBlock;
    std::vector<void*> keys;
    std::vector<void*> values;
    const auto copies = static_cast<int64_t>(memory_.size()) / (2 * blocks * block_bytes);
    for (int64_t b = 0; b < copies * blocks; ++b) {
      keys.push_back(memory_.data() + 2 * b * block_bytes);
      values.push_back(memory_.data() + (2 * b + 1) * block_bytes);
    }
    int64_t copy = 0;
    report(fmt::format("cached attention {} decode, context {}, heads {}/{}, dim {}",
                       base::dtype_name(dtype), context, heads, kv_heads, dim),
           static_cast<double>(2 * blocks * block_bytes),
           4.0 * static_cast<double>(context * heads * dim), [&] {
             const auto at = static_cast<size_t>(copy * blocks);
             const auto count = static_cast<size_t>(blocks);
             copy = (copy + 1) % copies;
             const KvBlocks cache = {
                 {&keys[at], count}, {&values[at], count}, kBlock, kv_heads, dim, dtype};
             cached_attention({x_.data(), heads * dim}, 1, context - 1, heads, cache, 0.1f,
                              y_.data(), pool_);
           });
  }

  void prompt_attention(int64_t tokens, int64_t heads, int64_t kv_heads, int64_t dim) {
    constexpr int64_t kBlock = 64;
    const int64_t block_bytes = kv_heads * kBlock * dim * 2;
    std::vector<void*> keys;
    std::vector<void*> values;
    for (int64_t b = 0; b < (tokens + kBlock - 1) / kBlock; ++b) {
      keys.push_back(memory_.data() + 2 * b * block_bytes);
      values.push_back(memory_.data() + (2 * b + 1) * block_bytes);
    }
    const KvBlocks cache = {keys, values, kBlock, kv_heads, dim, DType::kBF16};
    report(fmt::format("cached attention BF16 prompt of {}, heads {}/{}, dim {}", tokens, heads,
                       kv_heads, dim),
           0, 2.0 * static_cast<double>(tokens * tokens * heads * dim), [&] {
             cached_attention({x_.data(), heads * dim}, tokens, 0, heads, cache, 0.1f, y_.data(),
                              pool_);
           });
  }

  void picture_attention(int64_t tokens, int64_t heads, int64_t dim) {
    const int64_t width = heads * dim;
    const std::vector<int64_t> cu_seqlens = {0, tokens};
    report(fmt::format("block attention {} tokens, heads {}, dim {}", tokens, heads, dim), 0,
           4.0 * static_cast<double>(tokens * tokens * width), [&] {
             block_attention({x_.data(), 3 * width}, {x_.data() + width, 3 * width},
                             {x_.data() + 2 * width, 3 * width}, cu_seqlens, heads, dim, 0.1f,
                             y_.data(), pool_);
           });
  }

  void row_operations() {
    const int64_t rows = 1024;
    const int64_t dim = 2560;
    const auto bytes = static_cast<double>(rows * dim * 8);
    const std::vector<float> weight(static_cast<size_t>(dim), 1.0f);
    report("rms_norm 1024x2560", bytes, 0,
           [&] { rms_norm(x_.data(), rows, dim, weight.data(), 1e-6f, y_.data(), pool_); });
    report("layer_norm 1024x2560", bytes, 0, [&] {
      layer_norm(x_.data(), rows, dim, weight.data(), weight.data(), 1e-6f, y_.data(), pool_);
    });
    report("gelu (erf) 1024x2560", bytes, 0,
           [&] { activate(Activation::kGeluErf, x_.data(), rows * dim, y_.data(), pool_); });
    report("softmax 1024x2560", bytes, 0, [&] { softmax(x_.data(), rows, dim, y_.data(), pool_); });
    report("rope 1024x32x128", bytes * 4096 / 2560, 0, [&] {
      rope(y_.data(), rows, 32, 128, 4096, x_.data(), x_.data(), RopeLayout::kSplitHalf, pool_);
    });
    int64_t index = 0;
    report("argmax 151936", 151936 * 4.0, 0, [&] { index += argmax(x_.data(), 151936); });
    if (index < 0) fmt::print("\n");
  }

 private:
  static std::string format_name(int bits, DType dtype) {
    return bits == 0 ? std::string(base::dtype_name(dtype)) : fmt::format("{}-bit", bits);
  }

  void report(const std::string& name, double bytes, double flops,
              const std::function<void()>& body) {
    if (name.find(filter_) == std::string::npos) return;
    const double time = best_time(pool_.threads() == 1, body);
    fmt::print("{:<62} {:9.1f} us", name, time * 1e6);
    if (bytes > 0) {
      const double rate = bytes / time * 1e-9;
      fmt::print("  {:6.1f} GB/s ({:3.0f} %)", rate, 100 * rate / gigabytes_);
    }
    if (flops > 0) {
      const double rate = flops / time * 1e-9;
      fmt::print("  {:6.1f} GFLOPS ({:3.0f} %)", rate, 100 * rate / gigaflops_);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }

  base::ThreadPool pool_;
  std::string filter_;
  std::vector<uint8_t> memory_;
  std::vector<float> x_;
  std::vector<float> y_;
  double gigabytes_ = 1;
  double gigaflops_ = 1;
};

void run_all(int threads, const std::string& filter) {
  Bench bench(threads, filter);
  bench.limits();
  for (const int64_t rows : {1, 2, 4, 8, 12}) bench.linear_case(4, DType::kBF16, rows, 9728, 2560);
  bench.linear_case(4, DType::kBF16, 1, 2560, 9728);
  bench.linear_case(4, DType::kBF16, 1, 1024, 2560);
  for (const int bits : {4, 8, 6, 0}) bench.linear_case(bits, DType::kBF16, 1, 128, 2560, false);
  for (const int64_t rows : {1, 4}) bench.linear_case(8, DType::kBF16, rows, 9728, 2560);
  for (const int bits : {2, 3, 5, 6}) bench.linear_case(bits, DType::kBF16, 1, 9728, 2560);
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const int64_t rows : {1, 4}) bench.linear_case(0, dtype, rows, 9728, 2560);
  }
  for (const int64_t rows : {13, 16, 24, 32, 64, 512})
    bench.linear_case(4, DType::kBF16, rows, 9728, 2560);
  bench.linear_case(8, DType::kBF16, 512, 9728, 2560);
  bench.linear_case(6, DType::kBF16, 512, 9728, 2560);
  bench.linear_case(0, DType::kBF16, 512, 9728, 2560);
  bench.linear_case(0, DType::kF32, 512, 9728, 2560);
  bench.linear_case(0, DType::kBF16, 2048, 4096, 1024);
  bench.decode_attention(DType::kBF16, 8192, 32, 8, 128);
  bench.decode_attention(DType::kBF16, 512, 32, 8, 128);
  bench.decode_attention(DType::kF32, 8192, 32, 8, 128);
  bench.decode_attention(DType::kF16, 8192, 16, 8, 128);
  bench.prompt_attention(1024, 32, 8, 128);
  bench.picture_attention(1024, 16, 64);
  bench.picture_attention(4096, 16, 72);
  bench.picture_attention(16384, 16, 64);
  bench.row_operations();
}

}  // namespace
}  // namespace mlxcel::kernels

int main(int argc, char** argv) {
  mlxcel::kernels::init_from_environment();
  mlxcel::kernels::run_all(argc > 1 ? std::atoi(argv[1]) : 0, argc > 2 ? argv[2] : "");
  return 0;
}
#endif  // HWY_ONCE
