#include "engine/session.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/stopwatch.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace mlxcel::engine {
namespace {

namespace mx = mlx::core;

bool asked_to_stop(const Callbacks& callbacks) {
  return callbacks.cancelled && callbacks.cancelled();
}

std::span<const float> row_of(const mx::array& logits) {
  return {logits.data<float>(), static_cast<size_t>(logits.shape(-1))};
}

// Text of an answer as it grows: whole characters only, and nothing that a stop text may still take
// back.
class AnswerText {
 public:
  AnswerText(const text::Tokenizer& tokenizer, const GenerateOptions& options,
             const Callbacks& callbacks)
      : decoder_(tokenizer), stops_(options.stop), callbacks_(callbacks) {}

  // True when a stop text is complete.
  bool push(int32_t id) { return emit(stops_.push(decoder_.push(id))); }

  void finish() {
    if (!emit(stops_.push(decoder_.flush()))) emit({stops_.flush(), false});
  }

  std::string take() { return std::move(text_); }

 private:
  bool emit(const text::StopMatcher::Step& result) {
    if (!result.text.empty()) {
      text_ += result.text;
      if (callbacks_.on_text) callbacks_.on_text(result.text);
    }
    return result.stopped;
  }

  text::StreamDecoder decoder_;
  text::StopMatcher stops_;
  const Callbacks& callbacks_;
  std::string text_;
};

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

Session::Session(const LoadedModel& model, const SessionOptions& options)
    : model_(model),
      options_(options),
      cache_({.layers = model.info().layers,
              .kv_heads = model.info().kv_heads,
              .head_dim = model.info().head_dim,
              .dtype = options.kv_dtype}) {
  const int64_t own = model.info().context_limit;
  if (options_.context_limit == 0) options_.context_limit = own;
  if (options_.context_limit > own) {
    throw base::bad_input("a context of {} tokens is asked for; the model's limit is {}",
                          options_.context_limit, own);
  }
}

void Session::reset() {
  cache_.truncate(0);
  cached_ids_.clear();
  features_.clear();
}

mx::array Session::step(const models::SequenceInput& input) {
  mx::array result = model_.model->forward(std::span(&input, 1));
  result.eval();
  cached_ids_.insert(cached_ids_.end(), input.token_ids.begin(), input.token_ids.end());
  return result;
}

void Session::encode(std::span<const image::Patches* const> pictures, Timings& timings) {
  if (pictures.size() < features_.size())
    throw base::internal_error("a session's pictures can only grow in number");
  const auto fresh = pictures.subspan(features_.size());
  if (fresh.empty()) return;
  const base::Stopwatch watch;
  mx::array packed = model_.model->encode(fresh).main;
  packed.eval();
  int row = 0;
  for (const image::Patches* picture : fresh) {
    const int count = static_cast<int>(model_.processor->image_tokens(picture->grid));
    features_.push_back(
        mx::slice(packed, mx::Shape{row, 0}, mx::Shape{row + count, packed.shape(1)}));
    row += count;
  }
  timings.vision_ms += watch.ms();
}

mx::array Session::prefill(const PreparedPrompt& prompt, const models::VisualFeatures* features,
                           const Callbacks& callbacks, Timings& timings, bool& cancelled) {
  const auto total = static_cast<int64_t>(prompt.token_ids.size());
  const auto shared = std::mismatch(cached_ids_.begin(), cached_ids_.end(),
                                    prompt.token_ids.begin(), prompt.token_ids.end());
  // The last token is always computed: its logits are what is asked for.
  int64_t done = std::min<int64_t>(shared.first - cached_ids_.begin(), total - 1);
  cache_.truncate(done);
  cached_ids_.resize(static_cast<size_t>(done));
  int64_t visual_rows = std::count(prompt.visual.begin(), prompt.visual.begin() + done, 1);

  const base::Stopwatch watch;
  std::optional<mx::array> logits;
  while (done < total && !cancelled) {
    if ((cancelled = asked_to_stop(callbacks))) break;
    const auto begin = static_cast<size_t>(done);
    const auto count = static_cast<size_t>(std::min(options_.prefill_chunk, total - done));
    const models::SequenceInput input = {
        .token_ids = std::span(prompt.token_ids).subspan(begin, count),
        .positions = std::span(prompt.positions).subspan(begin, count),
        .visual = std::span(prompt.visual).subspan(begin, count),
        .features = features,
        .first_visual_row = visual_rows,
        .cache = &cache_,
        .logits = done + static_cast<int64_t>(count) == total ? models::LogitsRows::kLast
                                                              : models::LogitsRows::kNone};
    logits = step(input);
    visual_rows += std::count(input.visual.begin(), input.visual.end(), 1);
    done += static_cast<int64_t>(count);
    timings.prefill_tokens += static_cast<int64_t>(count);
    if (callbacks.on_prefill) callbacks.on_prefill(done, total);
  }
  timings.prefill_ms += watch.ms();
  return logits ? *logits : mx::array(0.0F);
}

GenerateResult Session::generate(const PreparedPrompt& prompt,
                                 std::span<const image::Patches* const> pictures,
                                 const GenerateOptions& options, const Callbacks& callbacks) {
  check_sampling(options.sampling);
  const auto prompt_tokens = static_cast<int64_t>(prompt.token_ids.size());
  if (prompt_tokens >= options_.context_limit) {
    throw base::bad_input("the prompt has {} tokens, which leaves no room in a context of {}",
                          prompt_tokens, options_.context_limit);
  }
  GenerateResult result;
  encode(pictures, result.timings);
  std::optional<models::VisualFeatures> features;
  if (!features_.empty()) features = models::VisualFeatures{mx::concatenate(features_, 0), {}};

  bool cancelled = false;
  mx::array logits =
      prefill(prompt, features ? &*features : nullptr, callbacks, result.timings, cancelled);
  Sampler sampler(options.sampling, model_.info().suppressed_ids, prompt.token_ids);
  AnswerText answer(model_.tokenizer, options, callbacks);
  const auto& eos = model_.info().eos_ids;
  const base::Stopwatch watch;
  result.finish_reason = FinishReason::kLength;
  while (true) {
    if (cancelled || asked_to_stop(callbacks)) {
      result.finish_reason = FinishReason::kCancelled;
      break;
    }
    const auto generated = static_cast<int64_t>(result.token_ids.size());
    if (generated == options.max_tokens || prompt_tokens + generated >= options_.context_limit)
      break;
    if (generated > 0) {
      const auto position = static_cast<int32_t>(prompt.next_position + generated - 1);
      logits = step({.token_ids = std::span(&result.token_ids.back(), 1),
                     .positions = std::span(&position, 1),
                     .cache = &cache_});
      ++result.timings.decode_tokens;
    }
    const int32_t id = sampler.next(row_of(logits));
    result.token_ids.push_back(id);
    const bool ended = !options.ignore_eos && std::find(eos.begin(), eos.end(), id) != eos.end();
    if (ended || answer.push(id)) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
  }
  answer.finish();
  result.text = answer.take();
  result.timings.decode_ms = watch.ms();
  return result;
}

}  // namespace mlxcel::engine
