// What the verbs that run a model share: from flags to a loaded model, prepared pictures and
// options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flag_table.h"
#include "cli/progress.h"
#include "engine/loaded_model.h"
#include "engine/session.h"

namespace mlxcel::cli {

// A model with the threads it runs on.
class Runtime {
 public:
  // Loads the model that -m names, with --threads workers.
  Runtime(const FlagValues& flags, ProgressLine& progress);

  const engine::LoadedModel& model() const { return *model_; }
  double load_ms() const { return load_ms_; }

  // Decodes and preprocesses one picture. Throws what the decoder throws, and kUnsupported when the
  // model takes no pictures.
  image::Patches picture(const std::string& file) const;

 private:
  std::unique_ptr<base::ThreadPool> pool_;
  std::unique_ptr<engine::LoadedModel> model_;
  double load_ms_ = 0;
};

engine::SamplingParams sampling_options(const FlagValues& flags);
engine::SessionOptions session_options(const FlagValues& flags);
engine::GenerateOptions generate_options(const FlagValues& flags);

// Pictures of one prompt with the tokens it makes.
struct PromptInput {
  std::vector<image::Patches> pictures;
  engine::PreparedPrompt prompt;

  std::vector<const image::Patches*> views() const;
};

// The prompt of `generate` and `dump`: --image, --system, -p (or standard input for "-"),
// --no-chat-template.
PromptInput prepare_prompt(const FlagValues& flags, const Runtime& runtime);

// Visual tokens of each picture.
std::vector<int64_t> image_token_counts(const Runtime& runtime,
                                        const std::vector<image::Patches>& pictures);

// True once Ctrl-C was pressed; the handler is installed by the first call. A second Ctrl-C ends
// the process.
bool interrupted();
void forget_interrupt();

// "1.2 s", "35 ms"; "12.3 tokens/s" (nothing for no tokens).
std::string format_ms(double ms);
double per_second(int64_t tokens, double ms);

}  // namespace mlxcel::cli
