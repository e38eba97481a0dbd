// Attention against a softmax in double precision: block sizes, dims, cache types, thread counts.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test_util.h"

namespace mlxcel::kernels {
namespace {

using base::DType;
using test::for_each_target;
using test::random_floats;

// out = softmax(scale * q k^T) v over `count` keys that are `dim` doubles each.
std::vector<double> reference_head(const float* q, const std::vector<double>& keys,
                                   const std::vector<double>& values, size_t count, size_t dim,
                                   double scale) {
  std::vector<double> scores(count);
  double top = -INFINITY;
  for (size_t t = 0; t < count; ++t) {
    double score = 0;
    for (size_t c = 0; c < dim; ++c) score += static_cast<double>(q[c]) * keys[t * dim + c];
    scores[t] = score * scale;
    top = std::max(top, scores[t]);
  }
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - top);
  std::vector<double> out(dim, 0.0);
  for (size_t t = 0; t < count; ++t) {
    for (size_t c = 0; c < dim; ++c) out[c] += scores[t] / sum * values[t * dim + c];
  }
  return out;
}

float usual_scale(int64_t dim) { return 1.0f / std::sqrt(static_cast<float>(dim)); }

// ---- block_attention ----

struct BlockCase {
  std::vector<int64_t> lengths;
  int64_t heads;
  int64_t dim;
  float q_scale = 1.0f;
  double tolerance = 2e-6;
};

// q, k, v fused in rows, as a qkv projection leaves them, with a gap at the end of each row.
struct FusedRows {
  explicit FusedRows(const BlockCase& c) : width(c.heads * c.dim), stride(3 * width + 5) {
    cu_seqlens = {0};
    for (const int64_t length : c.lengths) cu_seqlens.push_back(cu_seqlens.back() + length);
    data = random_floats(static_cast<size_t>(cu_seqlens.back() * stride), 11);
    for (size_t i = 0; i < data.size(); ++i) {
      if (static_cast<int64_t>(i) % stride < width) data[i] *= c.q_scale;
    }
  }
  int64_t width;
  int64_t stride;
  std::vector<int64_t> cu_seqlens;
  std::vector<float> data;
};

std::vector<float> run_block(const BlockCase& c, const FusedRows& rows, base::ThreadPool& pool) {
  std::vector<float> out(static_cast<size_t>(rows.cu_seqlens.back() * rows.width), -7.0f);
  const float* data = rows.data.data();
  block_attention({data, rows.stride}, {data + rows.width, rows.stride},
                  {data + 2 * rows.width, rows.stride}, rows.cu_seqlens, c.heads, c.dim,
                  usual_scale(c.dim), out.data(), pool);
  return out;
}

void expect_block(const BlockCase& c, base::ThreadPool& pool) {
  const FusedRows rows(c);
  const std::vector<float> out = run_block(c, rows, pool);
  const auto dim = static_cast<size_t>(c.dim);
  for (size_t b = 0; b < c.lengths.size(); ++b) {
    const auto count = static_cast<size_t>(c.lengths[b]);
    for (int64_t h = 0; h < c.heads; ++h) {
      std::vector<double> keys;
      std::vector<double> values;
      for (int64_t t = rows.cu_seqlens[b]; t < rows.cu_seqlens[b + 1]; ++t) {
        const float* k = &rows.data[static_cast<size_t>(t * rows.stride + rows.width + h * c.dim)];
        keys.insert(keys.end(), k, k + dim);
        const float* v =
            &rows.data[static_cast<size_t>(t * rows.stride + 2 * rows.width + h * c.dim)];
        values.insert(values.end(), v, v + dim);
      }
      for (int64_t t = rows.cu_seqlens[b]; t < rows.cu_seqlens[b + 1]; ++t) {
        const float* q = &rows.data[static_cast<size_t>(t * rows.stride + h * c.dim)];
        const std::vector<double> expected =
            reference_head(q, keys, values, count, dim, usual_scale(c.dim));
        for (size_t i = 0; i < dim; ++i) {
          ASSERT_NEAR(out[static_cast<size_t>((t * c.heads + h) * c.dim) + i], expected[i],
                      c.tolerance)
              << "token " << t << " head " << h << " dim " << c.dim;
        }
      }
    }
  }
}

TEST(BlockAttention, OverSmallSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (int64_t n = 1; n <= 40; ++n) expect_block({{n}, 2, 1 + n % 13}, pool);
    for (int64_t dim = 1; dim <= 40; ++dim) expect_block({{7}, 1, dim}, pool);
    for (const int64_t dim : {64, 72, 80, 128, 256, 272}) expect_block({{5, 19}, 2, dim}, pool);
  });
}

TEST(BlockAttention, ManyBlocksAndTiles) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    expect_block({{64, 0, 65, 1, 63, 129, 200}, 2, 16}, pool);
    expect_block({{331}, 1, 24}, pool);
    expect_block({{}, 1, 24}, pool);
  });
}

// Scores of some hundred: a running maximum is needed, and the sharpest keys decide. The error of a
// score is relative to its magnitude, so the result is less exact.
TEST(BlockAttention, LargeScores) {
  base::ThreadPool pool(2);
  for_each_target([&] { expect_block({{150}, 2, 32, 100.0f, 1e-3}, pool); });
}

TEST(BlockAttention, SameBitsForAnyNumberOfThreads) {
  for_each_target([&] {
    const BlockCase c = {{100, 257}, 3, 40};
    const FusedRows rows(c);
    base::ThreadPool one(1);
    const std::vector<float> expected = run_block(c, rows, one);
    for (const int threads : {2, 3, 4}) {
      base::ThreadPool pool(threads);
      ASSERT_EQ(run_block(c, rows, pool), expected);
    }
  });
}

// A block's result is what it would be alone.
TEST(BlockAttention, BlocksDoNotSeeEachOther) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    const BlockCase both = {{70, 33}, 2, 16};
    const FusedRows rows(both);
    const std::vector<float> together = run_block(both, rows, pool);
    FusedRows second({{33}, 2, 16});
    std::copy_n(rows.data.begin() + 70 * rows.stride, 33 * rows.stride, second.data.begin());
    const std::vector<float> alone = run_block({{33}, 2, 16}, second, pool);
    ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + 70 * rows.width));
  });
}

// ---- cached_attention ----

struct CacheCase {
  int64_t tokens;
  int64_t start;
  int64_t heads;
  int64_t kv_heads;
  int64_t dim;
  DType dtype;
  int64_t block_tokens;
};

// A cache filled by kv_store, in pieces, and the queries.
class Cache {
 public:
  Cache(const CacheCase& c, base::ThreadPool& pool) : c_(c), total_(c.start + c.tokens) {
    const int64_t width = c.kv_heads * c.dim;
    k_ = random_floats(static_cast<size_t>(total_ * width), 21);
    v_ = random_floats(static_cast<size_t>(total_ * width), 22);
    q_ = random_floats(static_cast<size_t>(c.tokens * c.heads * c.dim), 23);
    const int64_t blocks = (total_ + c.block_tokens - 1) / c.block_tokens;
    const size_t bytes = static_cast<size_t>(width * c.block_tokens) * base::dtype_size(c.dtype);
    for (int64_t b = 0; b < 2 * blocks; ++b) storage_.emplace_back(bytes, 0xFF);  // NaN everywhere
    for (int64_t b = 0; b < blocks; ++b) {
      // Blocks lie in memory in another order than in the sequence.
      keys_.push_back(storage_[static_cast<size_t>(blocks - 1 - b)].data());
      values_.push_back(storage_[static_cast<size_t>(2 * blocks - 1 - b)].data());
    }
    const int64_t piece = 1 + total_ / 3;
    for (int64_t t = 0; t < total_; t += piece) {
      kv_store(view(), t, std::min(piece, total_ - t), {k_.data() + t * width, width},
               {v_.data() + t * width, width}, pool);
    }
  }

  KvBlocks view() const { return {keys_, values_, c_.block_tokens, c_.kv_heads, c_.dim, c_.dtype}; }

  std::vector<float> run(base::ThreadPool& pool) const {
    std::vector<float> out(q_.size(), -7.0f);
    cached_attention({q_.data(), c_.heads * c_.dim}, c_.tokens, c_.start, c_.heads, view(),
                     usual_scale(c_.dim), out.data(), pool);
    return out;
  }

  // The stored values of one head, by the layout that kernels.h states.
  std::vector<double> stored(const std::vector<void*>& blocks, int64_t head) const {
    std::vector<double> rows;
    for (int64_t t = 0; t < total_; ++t) {
      const auto* block =
          static_cast<const uint8_t*>(blocks[static_cast<size_t>(t / c_.block_tokens)]);
      const int64_t at = (head * c_.block_tokens + t % c_.block_tokens) * c_.dim;
      for (int64_t i = 0; i < c_.dim; ++i) {
        rows.push_back(test::element(block, static_cast<size_t>(at + i), c_.dtype));
      }
    }
    return rows;
  }

  void expect_stored(const std::vector<float>& source, const std::vector<void*>& blocks) const {
    for (int64_t h = 0; h < c_.kv_heads; ++h) {
      const std::vector<double> rows = stored(blocks, h);
      for (int64_t t = 0; t < total_; ++t) {
        for (int64_t i = 0; i < c_.dim; ++i) {
          const float x = source[static_cast<size_t>((t * c_.kv_heads + h) * c_.dim + i)];
          const std::vector<uint8_t> exact = test::narrow({x}, c_.dtype);
          ASSERT_EQ(rows[static_cast<size_t>(t * c_.dim + i)],
                    test::element(exact.data(), 0, c_.dtype));
        }
      }
    }
  }

  void expect_right(base::ThreadPool& pool) const {
    expect_stored(k_, keys_);
    expect_stored(v_, values_);
    const std::vector<float> out = run(pool);
    const auto dim = static_cast<size_t>(c_.dim);
    const int64_t repeat = c_.heads / c_.kv_heads;
    for (int64_t h = 0; h < c_.heads; ++h) {
      const std::vector<double> keys = stored(keys_, h / repeat);
      const std::vector<double> values = stored(values_, h / repeat);
      for (int64_t t = 0; t < c_.tokens; ++t) {
        const auto at = static_cast<size_t>((t * c_.heads + h) * c_.dim);
        const auto visible = static_cast<size_t>(c_.start + t + 1);
        const std::vector<double> expected =
            reference_head(&q_[at], keys, values, visible, dim, usual_scale(c_.dim));
        for (size_t i = 0; i < dim; ++i) {
          ASSERT_NEAR(out[at + i], expected[i], 2e-6) << "token " << t << " head " << h;
        }
      }
    }
  }

 private:
  CacheCase c_;
  int64_t total_;
  std::vector<float> k_;
  std::vector<float> v_;
  std::vector<float> q_;
  std::vector<std::vector<uint8_t>> storage_;
  std::vector<void*> keys_;
  std::vector<void*> values_;
};

void expect_cached(const CacheCase& c, base::ThreadPool& pool) {
  SCOPED_TRACE(testing::Message() << "tokens " << c.tokens << " start " << c.start << " heads "
                                  << c.heads << "/" << c.kv_heads << " dim " << c.dim << " "
                                  << base::dtype_name(c.dtype) << " block " << c.block_tokens);
  Cache(c, pool).expect_right(pool);
}

TEST(CachedAttention, DecodeOverContextSizes) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t start = 0; start <= 40; ++start) {
        expect_cached({1, start, 4, 2, 1 + start % 35, dtype, 1 + start % 7}, pool);
      }
      for (const int64_t start : {254, 255, 256, 257, 700}) {
        expect_cached({1, start, 5, 1, 16, dtype, 32}, pool);
      }
    }
  });
}

TEST(CachedAttention, DimsAndRepeats) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const int64_t dim : {8, 24, 64, 72, 80, 96, 120, 128, 256, 264}) {
      for (const int64_t repeat : {1, 2, 3, 4, 5, 8, 9}) {
        expect_cached({1, 50, 2 * repeat, 2, dim, DType::kBF16, 16}, pool);
      }
    }
  });
}

TEST(CachedAttention, PromptsAndChunks) {
  base::ThreadPool pool(2);
  for_each_target([&] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t tokens = 1; tokens <= 20; ++tokens) {
        expect_cached({tokens, (tokens * 13) % 37, 6, 2, 16, dtype, 8}, pool);
      }
      expect_cached({150, 0, 2, 1, 32, dtype, 64}, pool);
      expect_cached({70, 270, 4, 4, 24, dtype, 256}, pool);
      // Four queries that lie on both sides of a cut of the context.
      expect_cached({4, 254, 2, 1, 16, dtype, 16}, pool);
    }
  });
}

TEST(CachedAttention, SameBitsForAnyNumberOfThreads) {
  for_each_target([&] {
    for (const int64_t tokens : {1, 100}) {
      base::ThreadPool one(1);
      const Cache cache({tokens, 900, 8, 2, 64, DType::kBF16, 64}, one);
      const std::vector<float> expected = cache.run(one);
      for (const int threads : {2, 3, 4}) {
        base::ThreadPool pool(threads);
        ASSERT_EQ(cache.run(pool), expected);
      }
    }
  });
}

TEST(CachedAttention, NoTokens) {
  base::ThreadPool pool(1);
  const Cache cache({1, 5, 2, 1, 8, DType::kF32, 4}, pool);
  cached_attention({nullptr, 16}, 0, 6, 2, cache.view(), 1.0f, nullptr, pool);
}

}  // namespace
}  // namespace mlxcel::kernels
