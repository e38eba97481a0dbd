#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace mlxcel::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Shares of each token in many draws.
std::map<int32_t, double> shares(const SamplingParams& params, const std::vector<float>& logits,
                                 int draws = 20000) {
  std::map<int32_t, double> result;
  // One sampler for each draw: penalties must not see earlier draws.
  for (int i = 0; i < draws; ++i) {
    SamplingParams seeded = params;
    seeded.seed = static_cast<uint64_t>(i);
    result[Sampler(seeded, {}, {}).next(logits)] += 1.0 / draws;
  }
  return result;
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  Sampler sampler({}, {}, {});
  EXPECT_EQ(sampler.next(std::array{0.0F, 3.0F, 3.0F, -1.0F}), 1);
}

TEST(Sampler, SuppressedIdsAreNeverReturned) {
  const std::vector<float> logits = {5, 9, 1};
  EXPECT_EQ(Sampler({}, {1}, {}).next(logits), 0);
  EXPECT_EQ(shares({.temperature = 2}, logits, 10).count(7), 0U);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_NE(Sampler({.temperature = 5, .seed = seed}, {1}, {}).next(logits), 1);
  }
}

TEST(Sampler, DrawsFollowTheSoftmaxAtTheTemperature) {
  const auto got = shares({.temperature = 0.5}, {0, 0.5F, 1});
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);
  EXPECT_NEAR(got.at(0), 1 / sum, 0.01);
  EXPECT_NEAR(got.at(1), std::exp(1.0) / sum, 0.012);
  EXPECT_NEAR(got.at(2), std::exp(2.0) / sum, 0.012);
}

TEST(Sampler, TopKTopPAndMinPCutTheTail) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  EXPECT_EQ(shares({.temperature = 1, .top_k = 2}, logits).size(), 2U);
  EXPECT_NEAR(shares({.temperature = 1, .top_k = 2}, logits).at(0), 0.625, 0.012);
  // 0.5 + 0.3 reaches 0.7; 0.5 alone does not.
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.7}, logits).size(), 2U);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.4}, logits).size(), 1U);
  // 0.15 is 30 % of the largest, 0.05 is 10 %.
  EXPECT_EQ(shares({.temperature = 1, .min_p = 0.2}, logits).size(), 3U);
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  const std::array<int32_t, 2> prompt = {0, 1};
  EXPECT_EQ(Sampler({.repetition_penalty = 2}, {}, prompt).next(std::array{3.0F, -1.0F, 1.6F}), 2);
  EXPECT_EQ(Sampler({.repetition_penalty = 2}, {}, prompt).next(std::array{3.0F, -1.0F, 1.4F}), 0);
  const std::array<int32_t, 1> second = {1};
  EXPECT_EQ(Sampler({.repetition_penalty = 2}, {}, second).next(std::array{-1.5F, -1.0F}), 0);
}

TEST(Sampler, FrequencyAndPresenceCountTheAnswerOnly) {
  const std::array<int32_t, 1> prompt = {0};
  const std::array logits = {1.0F, 0.7F};
  Sampler presence({.presence_penalty = 0.5}, {}, prompt);
  EXPECT_EQ(presence.next(logits), 0);  // the prompt does not count
  EXPECT_EQ(presence.next(logits), 1);
  EXPECT_EQ(presence.next(logits), 0);  // both are present now
  Sampler frequency({.frequency_penalty = 0.2}, {}, prompt);
  EXPECT_EQ(frequency.next(logits), 0);
  EXPECT_EQ(frequency.next(logits), 0);  // 0.8 against 0.7
  EXPECT_EQ(frequency.next(logits), 1);  // 0.6 against 0.7
}

TEST(Sampler, ASeedFixesTheSequence) {
  const std::vector<float> logits(50, 0.0F);
  const auto sequence = [&](uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed}, {}, {});
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sampler.next(logits));
    return ids;
  };
  EXPECT_EQ(sequence(7), sequence(7));
  EXPECT_NE(sequence(7), sequence(8));
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  EXPECT_THROW(Sampler({}, {}, {}).next(std::array{std::nanf(""), std::nanf("")}), base::Error);
  EXPECT_THROW(Sampler({}, {0}, {}).next(std::array{1.0F}), base::Error);
  EXPECT_EQ(Sampler({.temperature = 1}, {}, {}).next(std::array{-kInf, 2.0F, -kInf}), 1);
}

TEST(Sampler, NamesTheParameterThatIsOutOfRange) {
  EXPECT_THROW(check_sampling({.temperature = std::nan("")}), base::Error);
  EXPECT_THROW(check_sampling({.top_p = 0}), base::Error);
  EXPECT_THROW(check_sampling({.top_k = -1}), base::Error);
  EXPECT_THROW(check_sampling({.min_p = 1.5}), base::Error);
  EXPECT_THROW(check_sampling({.repetition_penalty = 0}), base::Error);
  EXPECT_NO_THROW(check_sampling({}));
}

}  // namespace
}  // namespace mlxcel::engine
