// Linear layers against sums in double precision, over formats, sizes, row counts and addresses.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test_util.h"

namespace mlxcel::kernels {
namespace {

using base::DType;
using test::for_each_target;
using test::make_matrix;
using test::Matrix;
using test::MatrixSpec;
using test::random_floats;

constexpr float kUnset = -12345.0f;

// Largest |y - exact| / sum of magnitudes over all outputs.
double worst_error(const Matrix& m, const std::vector<float>& x, int64_t rows,
                   const std::vector<float>& y) {
  double worst = 0;
  const auto in = static_cast<size_t>(m.view.in);
  const auto out = static_cast<size_t>(m.view.out);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (size_t o = 0; o < out; ++o) {
      double sum = 0;
      double magnitude = 1e-30;
      for (size_t i = 0; i < in; ++i) {
        const double product = m.values[o * in + i] * x[r * in + i];
        sum += product;
        magnitude += std::abs(product);
      }
      worst = std::max(worst, std::abs(y[r * out + o] - sum) / magnitude);
      if (std::isnan(y[r * out + o])) return NAN;
    }
  }
  return worst;
}

std::vector<float> run_linear(const Matrix& m, const std::vector<float>& x, int64_t rows,
                              base::ThreadPool& pool, const Epilogue& epilogue = {}) {
  std::vector<float> y(static_cast<size_t>(rows * m.view.out), kUnset);
  linear(x.data(), rows, m.view, epilogue, y.data(), pool);
  return y;
}

void expect_exact_enough(const MatrixSpec& spec, int64_t rows, base::ThreadPool& pool) {
  SCOPED_TRACE(testing::Message() << "rows " << rows << " out " << spec.out << " in " << spec.in
                                  << " bits " << spec.bits << " group " << spec.group_size
                                  << " dtype " << base::dtype_name(spec.dtype) << " shift "
                                  << spec.shift);
  const Matrix m = make_matrix(spec);
  const std::vector<float> x = random_floats(static_cast<size_t>(rows * spec.in), 99);
  ASSERT_LE(worst_error(m, x, rows, run_linear(m, x, rows, pool)), 1e-6);
}

TEST(Linear, DenseOverSmallSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t in = 1; in <= 41; ++in) {
        for (const int64_t out : {1, 3, 4, 9, 17}) {
          expect_exact_enough({out, in, dtype, 0, 0, static_cast<size_t>(in % 5)}, 1 + in % 3,
                              pool);
        }
      }
    }
  });
}

TEST(Linear, DenseOverRowCounts) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t rows = 1; rows <= 40; ++rows)
        expect_exact_enough({37, 75, dtype, 0, 0, 1}, rows, pool);
    }
  });
}

TEST(Linear, EveryQuantisedFormat) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      for (const int group : {32, 64, 128}) {
        for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
          for (int64_t groups = 1; groups <= 5; ++groups) {
            const auto shift = static_cast<size_t>((bits + groups) % 4);
            for (const int64_t rows : {1, 2, 3, 7, 13}) {
              expect_exact_enough({5, groups * group, dtype, bits, group, shift}, rows, pool);
            }
          }
        }
      }
    }
  });
}

TEST(Linear, QuantisedOverSmallSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const int bits : {2, 4, 6, 8}) {
      for (int64_t out = 1; out <= 40; ++out) {
        expect_exact_enough({out, 32 * (1 + out % 21), DType::kBF16, bits, 32, 3}, 1 + out % 19,
                            pool);
      }
    }
  });
}

TEST(Linear, LargerThanEveryTile) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    expect_exact_enough({139, 704, DType::kBF16, 4, 64, 1}, 520, pool);
    expect_exact_enough({1061, 512, DType::kF16, 8, 128, 1}, 1, pool);
    expect_exact_enough({130, 515, DType::kF32, 0, 0, 0}, 47, pool);
  });
}

TEST(Linear, LargeAndTinyValues) {
  base::ThreadPool pool(1);
  for_each_target([&] {
    for (const float scale : {1e-30f, 1e-18f, 1e18f, 1e30f}) {
      for (const int bits : {0, 4, 8, 3}) {
        const Matrix m = make_matrix({9, 128, DType::kF32, bits, bits == 0 ? 0 : 32, 1, 5, scale});
        for (const int64_t rows : {1, 14}) {
          const std::vector<float> x = random_floats(static_cast<size_t>(rows * 128), 4, 1.0f);
          ASSERT_LE(worst_error(m, x, rows, run_linear(m, x, rows, pool)), 1e-6);
        }
      }
    }
  });
}

TEST(Linear, SameBitsForAnyNumberOfThreads) {
  for_each_target([&] {
    for (const int bits : {0, 3, 4, 8}) {
      for (const int64_t rows : {1, 5, 60}) {
        const Matrix m = make_matrix({777, 256, DType::kBF16, bits, bits == 0 ? 0 : 64, 0});
        const std::vector<float> x = random_floats(static_cast<size_t>(rows * 256), 3);
        base::ThreadPool one(1);
        const std::vector<float> expected = run_linear(m, x, rows, one);
        for (const int threads : {2, 3, 4}) {
          base::ThreadPool pool(threads);
          ASSERT_EQ(run_linear(m, x, rows, pool), expected)
              << bits << " " << rows << " " << threads;
        }
      }
    }
  });
}

// A row's result does not depend on which rows are beside it (on one side of the few-rows limit).
TEST(Linear, RowsDoNotDependOnTheirNeighbours) {
  base::ThreadPool pool(1);
  for_each_target([&] {
    for (const int bits : {0, 2, 4, 5, 8}) {
      const Matrix m = make_matrix({37, 256, DType::kBF16, bits, bits == 0 ? 0 : 64, 0});
      const std::vector<float> x = random_floats(53 * 256, 3);
      const std::vector<float> many = run_linear(m, x, 53, pool);
      const std::vector<float> fewer = run_linear(m, x, 29, pool);
      ASSERT_TRUE(std::equal(fewer.begin(), fewer.end(), many.begin()));
      const std::vector<float> few = run_linear(m, x, 7, pool);
      for (size_t r = 0; r < 7; ++r) {
        const std::vector<float> row(x.begin() + static_cast<ptrdiff_t>(r * 256),
                                     x.begin() + static_cast<ptrdiff_t>((r + 1) * 256));
        const std::vector<float> alone = run_linear(m, row, 1, pool);
        ASSERT_TRUE(
            std::equal(alone.begin(), alone.end(), few.begin() + static_cast<ptrdiff_t>(r * 37)));
      }
    }
  });
}

TEST(Linear, EpilogueInOrder) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const int64_t rows : {1, 3, 30}) {
      for (const int64_t out : {5, 150}) {
        const Matrix m = make_matrix({out, 64, DType::kF32, 0, 0, 0, 1, 0.1f});
        const std::vector<float> x = random_floats(static_cast<size_t>(rows * 64), 3);
        const std::vector<float> bias = random_floats(static_cast<size_t>(out), 5);
        const std::vector<float> residual = random_floats(static_cast<size_t>(rows * out), 6);
        const std::vector<float> plain = run_linear(m, x, rows, pool);
        for (const Activation activation :
             {Activation::kNone, Activation::kGeluErf, Activation::kGeluTanh,
              Activation::kQuickGelu, Activation::kSilu}) {
          for (int parts = 0; parts < 4; ++parts) {
            Epilogue epilogue;
            epilogue.activation = activation;
            if ((parts & 1) != 0) epilogue.bias = bias.data();
            // The residual is the output itself.
            std::vector<float> y = residual;
            if ((parts & 2) != 0) epilogue.residual = y.data();
            linear(x.data(), rows, m.view, epilogue, y.data(), pool);
            for (size_t i = 0; i < y.size(); ++i) {
              double expected = plain[i];
              if ((parts & 1) != 0) expected += bias[i % static_cast<size_t>(out)];
              expected = test::reference_activation(activation, expected);
              if ((parts & 2) != 0) expected += residual[i];
              ASSERT_NEAR(y[i], expected, 1e-6 * (1 + std::abs(expected)));
            }
          }
        }
      }
    }
  });
}

TEST(LinearMany, EqualsSingleCalls) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    const Matrix a = make_matrix({70, 128, DType::kBF16, 4, 64, 1, 1});
    const Matrix b = make_matrix({33, 128, DType::kF16, 4, 32, 1, 2});
    const Matrix c = make_matrix({300, 128, DType::kBF16, 0, 0, 1, 3});
    const Matrix e = make_matrix({18, 128, DType::kBF16, 5, 64, 1, 4});
    for (const int64_t rows : {1, 4, 25}) {
      const std::vector<float> x = random_floats(static_cast<size_t>(rows * 128), 3);
      const std::vector<float> bias = random_floats(300, 3);
      Epilogue with_bias;
      with_bias.bias = bias.data();
      std::vector<std::vector<float>> outputs;
      std::vector<LinearTask> tasks;
      for (const Matrix* m : {&a, &b, &c, &e}) {
        outputs.emplace_back(static_cast<size_t>(rows * m->view.out), kUnset);
        tasks.push_back({m->view, with_bias, nullptr});
      }
      for (size_t i = 0; i < tasks.size(); ++i) tasks[i].y = outputs[i].data();
      linear_many(x.data(), rows, tasks, pool);
      size_t i = 0;
      for (const Matrix* m : {&a, &b, &c, &e}) {
        ASSERT_EQ(outputs[i++], run_linear(*m, x, rows, pool, with_bias));
      }
    }
  });
}

TEST(LinearSwiglu, IsSiluOfGateTimesUp) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    const Matrix gate = make_matrix({141, 128, DType::kBF16, 4, 64, 1, 1, 0.02f});
    for (const int up_bits : {4, 8, 0}) {
      const Matrix up =
          make_matrix({141, 128, DType::kBF16, up_bits, up_bits == 0 ? 0 : 32, 1, 2, 0.02f});
      for (const int64_t rows : {1, 6, 33}) {
        const std::vector<float> x = random_floats(static_cast<size_t>(rows * 128), 3);
        const std::vector<float> g = run_linear(gate, x, rows, pool);
        const std::vector<float> u = run_linear(up, x, rows, pool);
        std::vector<float> y(g.size(), kUnset);
        linear_swiglu(x.data(), rows, gate.view, up.view, y.data(), pool);
        for (size_t i = 0; i < y.size(); ++i) {
          const double expected = test::reference_activation(Activation::kSilu, g[i]) * u[i];
          ASSERT_NEAR(y[i], expected, 1e-6 * (1 + std::abs(expected)));
        }
      }
    }
  });
}

TEST(Linear, NothingToDo) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    const Matrix m = make_matrix({3, 32, DType::kF32, 0, 0, 0});
    float y = kUnset;
    linear(nullptr, 0, m.view, {}, &y, pool);
    EXPECT_EQ(y, kUnset);
    WeightView empty = m.view;
    empty.out = 0;
    linear(&y, 1, empty, {}, &y, pool);
    EXPECT_EQ(y, kUnset);
    WeightView no_input = m.view;
    no_input.in = 0;
    for (const int64_t rows : {1, 20}) {
      std::vector<float> zeros(static_cast<size_t>(rows * 3), kUnset);
      linear(&y, rows, no_input, {}, zeros.data(), pool);
      EXPECT_EQ(zeros, std::vector<float>(static_cast<size_t>(rows * 3), 0.0f));
    }
    linear_many(&y, 1, {}, pool);
  });
}

}  // namespace
}  // namespace mlxcel::kernels
