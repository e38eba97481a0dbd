// One conversation's state: its KV cache, the tokens in it and the features of its pictures.
// Nothing of it lives in the model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/prompt.h"
#include "engine/sampler.h"
#include "ops/kv_cache.h"

namespace mlxcel::engine {

struct SessionOptions {
  int64_t context_limit = 0;    // tokens; 0: the model's own
  int64_t prefill_chunk = 512;  // tokens of a prompt in one step
  base::DType kv_dtype = base::DType::kF32;
};

struct GenerateOptions {
  SamplingParams sampling;
  int64_t max_tokens = 256;
  std::vector<std::string> stop;  // texts that end the answer; not part of it
  bool ignore_eos = false;
};

enum class FinishReason { kStop, kLength, kCancelled };
std::string_view to_string(FinishReason reason);

struct Timings {
  double vision_ms = 0;
  double prefill_ms = 0;
  double decode_ms = 0;
  int64_t prefill_tokens = 0;  // computed now, not taken from the cache
  int64_t decode_tokens = 0;   // steps after the first token
};

struct GenerateResult {
  std::vector<int32_t> token_ids;  // with the one that ended it
  std::string text;
  FinishReason finish_reason = FinishReason::kStop;
  Timings timings;
};

// All optional.
struct Callbacks {
  std::function<void(std::string_view delta)> on_text;
  std::function<void(int64_t done, int64_t total)> on_prefill;
  std::function<bool()> cancelled;  // asked before each step
};

class Session {
 public:
  Session(const LoadedModel& model, const SessionOptions& options);

  // Answers a prompt. Its pictures are those of the whole conversation, in order; those that an
  // earlier call of this session has encoded are not encoded again, and the tokens that the prompt
  // shares with what is in the cache are not computed again. Throws kBadInput when the prompt does
  // not fit.
  GenerateResult generate(const PreparedPrompt& prompt,
                          std::span<const image::Patches* const> pictures,
                          const GenerateOptions& options, const Callbacks& callbacks = {});

  // Forgets everything.
  void reset();

  int64_t cached_tokens() const { return cache_.tokens(); }

 private:
  models::mx::array prefill(const PreparedPrompt& prompt, const models::VisualFeatures* features,
                            const Callbacks& callbacks, Timings& timings, bool& cancelled);
  void encode(std::span<const image::Patches* const> pictures, Timings& timings);
  models::mx::array step(const models::SequenceInput& input);

  const LoadedModel& model_;
  SessionOptions options_;
  ops::KvCache cache_;
  std::vector<int32_t> cached_ids_;          // tokens in the cache
  std::vector<models::mx::array> features_;  // of each picture, [tokens, hidden]
};

}  // namespace mlxcel::engine
