// Forcing an instruction set, and the layout of quantised weights against MLX's own output.
#include "kernels/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/error.h"
#include "kernels/test_util.h"

namespace mlxcel::kernels {
namespace {

TEST(Dispatch, EveryTargetCanBeForced) {
  const std::vector<std::string> targets = supported_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(std::set<std::string>(targets.begin(), targets.end()).size(), targets.size());
  EXPECT_EQ(active_target(), targets.front());
  for (const std::string& target : targets) {
    force_target(target);
    EXPECT_EQ(active_target(), target);
    EXPECT_EQ(supported_targets(), targets);
  }
  force_target("scalar");
  EXPECT_EQ(active_target(), "EMU128");
  force_target("");
  EXPECT_EQ(active_target(), targets.front());
}

TEST(Dispatch, UnknownTargetNamesTheKnownOnes) {
  const std::string before = active_target();
  try {
    force_target("avx9");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
    EXPECT_NE(std::string(error.what()).find("avx9"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("EMU128"), std::string::npos);
  }
  EXPECT_EQ(active_target(), before);
}

TEST(Dispatch, EnvironmentIsRead) {
  const std::string best = active_target();
  setenv("MLXCEL_CPU", "emu128", 1);
  init_from_environment();
  EXPECT_EQ(active_target(), "EMU128");
  unsetenv("MLXCEL_CPU");
  force_target("");
  init_from_environment();
  EXPECT_EQ(active_target(), best);
}

// The sets really compute differently: sums of many terms are grouped by the width of a vector.
TEST(Dispatch, ForcedTargetIsTheOneThatRuns) {
  base::ThreadPool pool(1);
  const test::Matrix m = test::make_matrix({64, 1000, base::DType::kF32, 0, 0, 0});
  const std::vector<float> x = test::random_floats(1000, 5);
  std::set<std::vector<float>> results;
  test::for_each_target([&] {
    std::vector<float> y(64);
    linear(x.data(), 1, m.view, {}, y.data(), pool);
    results.insert(y);
  });
  if (supported_targets().size() >= 2) {
    EXPECT_GE(results.size(), 2u);
  }
}

// ---- Quantised layout ----

struct Cursor {
  const std::vector<char>& bytes;
  size_t at = 0;
  template <typename T>
  std::vector<T> take(size_t count) {
    std::vector<T> values(count);
    EXPECT_LE(at + count * sizeof(T), bytes.size());
    std::memcpy(values.data(), bytes.data() + at, count * sizeof(T));
    at += count * sizeof(T);
    return values;
  }
};

// Fixtures by tools/fixtures/make_quantize_cases.py.
TEST(QuantisedLayout, AgreesWithMlx) {
  base::ThreadPool pool(1);
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    const std::string path = std::string(MLXCEL_SOURCE_DIR) + "/tests/fixtures/kernels/quantize_" +
                             std::to_string(bits) + ".bin";
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << path;
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>()};
    Cursor cursor{bytes};
    for (const int group : {32, 64, 128}) {
      const std::vector<int32_t> header = cursor.take<int32_t>(4);
      ASSERT_EQ(header[2], bits);
      ASSERT_EQ(header[3], group);
      const auto rows = static_cast<size_t>(header[0]);
      const auto columns = static_cast<size_t>(header[1]);
      const size_t groups = columns / static_cast<size_t>(group);
      const std::vector<uint32_t> packed =
          cursor.take<uint32_t>(rows * columns * static_cast<size_t>(bits) / 32);
      const std::vector<float> scales = cursor.take<float>(rows * groups);
      const std::vector<float> biases = cursor.take<float>(rows * groups);
      const std::vector<float> expected = cursor.take<float>(rows * columns);
      // The packing that the other tests use makes MLX's words from MLX's integers.
      std::vector<uint32_t> integers(expected.size());
      for (size_t i = 0; i < integers.size(); ++i) {
        const size_t g = i / static_cast<size_t>(group);
        integers[i] = static_cast<uint32_t>(std::lround((expected[i] - biases[g]) / scales[g]));
      }
      const std::vector<uint8_t> repacked = test::pack_bits(integers, bits);
      ASSERT_EQ(repacked.size(), packed.size() * 4);
      ASSERT_EQ(std::memcmp(repacked.data(), packed.data(), repacked.size()), 0)
          << bits << " " << group;

      WeightView view;
      view.data = packed.data();
      view.out = static_cast<int64_t>(rows);
      view.in = static_cast<int64_t>(columns);
      view.bits = bits;
      view.group_size = group;
      view.scales = scales.data();
      view.biases = biases.data();
      test::for_each_target([&] {
        std::vector<float> wide(expected.size());
        dequantize(view, wide.data(), pool);
        for (size_t i = 0; i < wide.size(); ++i) ASSERT_NEAR(wide[i], expected[i], 1e-6);
        // Unit vectors pick single weights through the decoding kernels.
        std::vector<float> x(columns, 0.0f);
        std::vector<float> y(rows);
        for (size_t c = 0; c < columns; c += 7) {
          x[c] = 1.0f;
          linear(x.data(), 1, view, {}, y.data(), pool);
          x[c] = 0.0f;
          for (size_t r = 0; r < rows; ++r) ASSERT_NEAR(y[r], expected[r * columns + c], 2e-6);
        }
      });
    }
    EXPECT_EQ(cursor.at, bytes.size());
  }
}

}  // namespace
}  // namespace mlxcel::kernels
