// One question, one answer: `generate`, and `dump`, which runs the same prompt and writes every
// stage.
#include <cstdio>
#include <iostream>

#include "base/json.h"
#include "base/stopwatch.h"
#include "base/utf8.h"
#include "cli/actions.h"
#include "cli/runtime.h"
#include "engine/dump.h"

namespace mlxcel::cli {
namespace {

base::Json report(const Runtime& runtime, const PromptInput& input, double preprocess_ms,
                  const engine::GenerateResult& result) {
  base::Json images = base::Json::array();
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    const image::Grid& grid = input.pictures[i].grid;
    images.push_back(
        {{"grid", {grid.t, grid.h, grid.w}}, {"tokens", input.prompt.image_tokens[i]}});
  }
  const engine::Timings& t = result.timings;
  const size_t prompt_tokens = input.prompt.token_ids.size();
  return {{"text", result.text},
          {"token_ids", result.token_ids},
          {"prompt_token_ids", input.prompt.token_ids},
          {"finish_reason", engine::to_string(result.finish_reason)},
          {"images", images},
          {"usage",
           {{"prompt_tokens", prompt_tokens},
            {"completion_tokens", result.token_ids.size()},
            {"total_tokens", prompt_tokens + result.token_ids.size()}}},
          {"timings",
           {{"load_ms", runtime.load_ms()},
            {"preprocess_ms", preprocess_ms},
            {"vision_ms", t.vision_ms},
            {"prefill_ms", t.prefill_ms},
            {"prefill_tokens_per_s", per_second(t.prefill_tokens, t.prefill_ms)},
            {"decode_ms", t.decode_ms},
            {"decode_tokens_per_s", per_second(t.decode_tokens, t.decode_ms)}}}};
}

}  // namespace

void print_timings(double load_ms, double preprocess_ms, const engine::Timings& t) {
  std::string line = fmt::format("[load {}, ", format_ms(load_ms));
  if (preprocess_ms > 0)
    line +=
        fmt::format("pictures {}, vision {}, ", format_ms(preprocess_ms), format_ms(t.vision_ms));
  line += fmt::format("prefill {} tokens in {} ({:.0f} tokens/s)", t.prefill_tokens,
                      format_ms(t.prefill_ms), per_second(t.prefill_tokens, t.prefill_ms));
  if (t.decode_tokens > 0) {
    line += fmt::format(", decode {} tokens in {} ({:.1f} tokens/s)", t.decode_tokens,
                        format_ms(t.decode_ms), per_second(t.decode_tokens, t.decode_ms));
  }
  std::cerr << line << "]\n";
}

engine::Callbacks terminal_callbacks(ProgressLine& progress, bool stream_text) {
  engine::Callbacks callbacks;
  if (stream_text) {
    callbacks.on_text = [&progress](std::string_view delta) {
      progress.clear();
      std::cout << delta << std::flush;
    };
  }
  callbacks.on_prefill = [&progress](int64_t done, int64_t total) {
    if (done < total)
      progress.show(fmt::format("reading the prompt: {} of {} tokens", done, total));
  };
  callbacks.cancelled = interrupted;
  return callbacks;
}

int run_generate(const FlagValues& flags) {
  const bool json = flags.on("--json");
  ProgressLine progress(json || flags.on("--quiet"));
  const Runtime runtime(flags, progress);
  const base::Stopwatch watch;
  const PromptInput input = prepare_prompt(flags, runtime);
  const double preprocess_ms = watch.ms();

  engine::Session session(runtime.model(), session_options(flags));
  const auto result = session.generate(input.prompt, input.views(), generate_options(flags),
                                       terminal_callbacks(progress, !json));
  progress.clear();
  if (json) {
    std::cout << report(runtime, input, preprocess_ms, result)
                     .dump(2, ' ', false, base::Json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << "\n";
  }
  std::cout << std::flush;
  if (flags.on("--verbose")) {
    print_timings(runtime.load_ms(), input.pictures.empty() ? 0 : preprocess_ms, result.timings);
  }
  return result.finish_reason == engine::FinishReason::kCancelled ? 130 : 0;
}

int run_dump(const FlagValues& flags) {
  ProgressLine progress(flags.on("--quiet"));
  const Runtime runtime(flags, progress);
  const PromptInput input = prepare_prompt(flags, runtime);
  engine::dump_stages(
      runtime.model(), input.prompt, input.views(),
      {.max_tokens = flags.integer("--max-tokens"), .kv_dtype = session_options(flags).kv_dtype},
      flags.text("--output"));
  return 0;
}

}  // namespace mlxcel::cli
