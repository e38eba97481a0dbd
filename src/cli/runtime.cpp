#include "cli/runtime.h"

#include <csignal>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/stopwatch.h"
#include "cli/model_store.h"
#include "image/decode.h"

namespace mlxcel::cli {
namespace {

constexpr size_t kMaxPromptBytes = size_t{64} << 20;

volatile std::sig_atomic_t interrupt_count = 0;

void on_interrupt(int /*signal*/) {
  interrupt_count = interrupt_count + 1;
  if (interrupt_count > 1) std::signal(SIGINT, SIG_DFL);
}

base::DType kv_dtype(const std::string& name) {
  if (name == "bf16") return base::DType::kBF16;
  if (name == "f16") return base::DType::kF16;
  return base::DType::kF32;
}

std::string prompt_text(const FlagValues& flags) {
  std::string text = flags.text("--prompt");
  if (text != "-") return text;
  text.clear();
  char buffer[4096];
  while (std::cin.read(buffer, sizeof(buffer)) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(std::cin.gcount()));
    if (text.size() > kMaxPromptBytes)
      throw base::bad_input("standard input: more than {} bytes", kMaxPromptBytes);
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

engine::Conversation conversation(const FlagValues& flags, size_t images) {
  using Kind = engine::ContentPart::Kind;
  engine::Conversation messages;
  if (flags.has("--system"))
    messages.push_back({"system", {{Kind::kText, flags.text("--system")}}});
  engine::Message user = {"user", {}};
  for (size_t i = 0; i < images; ++i) user.content.push_back({Kind::kImage, ""});
  user.content.push_back({Kind::kText, prompt_text(flags)});
  messages.push_back(std::move(user));
  return messages;
}

}  // namespace

Runtime::Runtime(const FlagValues& flags, ProgressLine& progress) {
  const base::Stopwatch watch;
  const std::filesystem::path folder = find_model(flags.text("--model"));
  progress.show("loading " + folder.string() + " ...");
  pool_ = std::make_unique<base::ThreadPool>(static_cast<int>(flags.integer("--threads")));
  const ops::Context context = {.backend = ops::Backend::kKernels, .pool = pool_.get()};
  model_ = std::make_unique<engine::LoadedModel>(engine::LoadedModel::open(folder, context));
  load_ms_ = watch.ms();
  progress.clear();
}

image::Patches Runtime::picture(const std::string& file) const {
  if (!model_->processor) {
    throw base::unsupported("{}: {} is a text model and takes no pictures", file,
                            model_->info().model_type);
  }
  const image::Image decoded = image::load(file);
  try {
    return model_->processor->process(decoded, pool_.get());
  } catch (const base::Error& error) {  // knows the size, not the file
    throw base::Error(error.kind(), fmt::format("{}: {}", file, error.what()));
  }
}

engine::SamplingParams sampling_options(const FlagValues& flags) {
  engine::SamplingParams params = {.temperature = flags.number("--temp"),
                                   .top_p = flags.number("--top-p"),
                                   .top_k = flags.integer("--top-k"),
                                   .min_p = flags.number("--min-p"),
                                   .repetition_penalty = flags.number("--repetition-penalty"),
                                   .frequency_penalty = flags.number("--frequency-penalty"),
                                   .presence_penalty = flags.number("--presence-penalty"),
                                   .seed = std::nullopt};
  if (flags.has("--seed")) params.seed = static_cast<uint64_t>(flags.integer("--seed"));
  return params;
}

engine::SessionOptions session_options(const FlagValues& flags) {
  return {.context_limit = flags.integer("--ctx-size"),
          .prefill_chunk = flags.integer("--prefill-chunk"),
          .kv_dtype = kv_dtype(flags.text("--kv-type"))};
}

engine::GenerateOptions generate_options(const FlagValues& flags) {
  return {.sampling = sampling_options(flags),
          .max_tokens = flags.integer("--max-tokens"),
          .stop = flags.all("--stop"),
          .ignore_eos = flags.on("--ignore-eos")};
}

std::vector<const image::Patches*> PromptInput::views() const {
  std::vector<const image::Patches*> result;
  for (const image::Patches& picture : pictures) result.push_back(&picture);
  return result;
}

std::vector<int64_t> image_token_counts(const Runtime& runtime,
                                        const std::vector<image::Patches>& pictures) {
  std::vector<int64_t> counts;
  for (const image::Patches& picture : pictures)
    counts.push_back(runtime.model().processor->image_tokens(picture.grid));
  return counts;
}

PromptInput prepare_prompt(const FlagValues& flags, const Runtime& runtime) {
  const engine::LoadedModel& model = runtime.model();
  PromptInput input;
  for (const std::string& file : flags.all("--image"))
    input.pictures.push_back(runtime.picture(file));
  std::vector<int32_t> ids;
  if (flags.on("--no-chat-template")) {
    // Here the prompt is the template: its author writes special tokens and placeholders himself.
    ids = model.tokenizer.encode(prompt_text(flags));
  } else {
    if (!model.chat_template) {
      throw base::not_found(
          "{}: no chat template there; --no-chat-template gives the prompt as it is",
          flags.text("--model"));
    }
    ids = engine::encode_conversation(conversation(flags, input.pictures.size()),
                                      *model.chat_template, model.tokenizer);
  }
  input.prompt =
      engine::expand_placeholders(ids, model.info(), image_token_counts(runtime, input.pictures));
  return input;
}

bool interrupted() {
  static const bool installed = std::signal(SIGINT, on_interrupt) != SIG_ERR;
  return installed && interrupt_count > 0;
}

void forget_interrupt() {
  interrupt_count = 0;
  std::signal(SIGINT, on_interrupt);
}

std::string format_ms(double ms) {
  return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.2f} s", ms / 1000);
}

double per_second(int64_t tokens, double ms) {
  return ms > 0 ? static_cast<double>(tokens) * 1000 / ms : 0;
}

}  // namespace mlxcel::cli
