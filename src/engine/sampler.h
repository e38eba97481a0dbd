// From a row of logits to a token. One sampler belongs to one sequence: its random numbers and its
// history never depend on what else runs.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

namespace mlxcel::engine {

struct SamplingParams {
  double temperature = 0;  // 0: greedy
  double top_p = 1;   // smallest set of most likely tokens whose probabilities reach this; 1: off
  int64_t top_k = 0;  // 0: off
  double min_p = 0;   // drops tokens less likely than this share of the most likely one; 0: off
  double repetition_penalty = 1;  // over prompt and answer, as transformers defines it
  double frequency_penalty = 0;   // over the answer, as OpenAI defines it
  double presence_penalty = 0;
  std::optional<uint64_t> seed;  // nothing: different each time
};

// Throws kBadInput naming the parameter that is out of range or not a number.
void check_sampling(const SamplingParams& params);

class Sampler {
 public:
  // `suppressed` ids are never returned. `prompt` counts for the repetition penalty.
  Sampler(const SamplingParams& params, std::vector<int32_t> suppressed,
          std::span<const int32_t> prompt);

  // Draws the next token from logits [vocab] and remembers it. Order: suppression, penalties,
  // temperature, top-k, top-p, min-p (as transformers). Throws kInternal when no logit is finite.
  int32_t next(std::span<const float> logits);

 private:
  struct Seen {
    bool in_prompt = false;
    int64_t in_answer = 0;
  };

  void adjust(std::vector<float>& logits) const;
  int32_t draw(const std::vector<float>& logits);

  SamplingParams params_;
  std::vector<int32_t> suppressed_;
  std::unordered_map<int32_t, Seen> seen_;
  std::mt19937_64 random_;
};

}  // namespace mlxcel::engine
