// Defaults and bounds of the flags that verbs share.
#include "cli/shared_flags.h"

namespace mlxcel::cli {

Flags combine(std::initializer_list<Flags> groups) {
  Flags all;
  for (const Flags& group : groups) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

Flags model_flags() {
  return {{.name = "--model",
           .short_name = "-m",
           .placeholder = "MODEL",
           .type = PathValue{},
           .required = true,
           .complete = Completion::kModel,
           .group = "Model",
           .help = "Folder of a checkpoint, or the name of one that 'mlxcel list' shows"}};
}

Flags picture_flags(std::string_view help) {
  return {{.name = "--image",
           .placeholder = "FILE",
           .type = PathValue{},
           .repeatable = true,
           .complete = Completion::kFile,
           .group = "Input",
           .help = help}};
}

Flags prompt_flags() {
  return {{.name = "--prompt",
           .short_name = "-p",
           .placeholder = "TEXT",
           .type = TextValue{.may_be_empty = true},
           .required = true,
           .group = "Input",
           .help = "What to ask; '-p -' reads the text from standard input"}};
}

Flags system_flags() {
  return {{.name = "--system",
           .placeholder = "TEXT",
           .type = TextValue{.may_be_empty = true},
           .group = "Input",
           .help = "System prompt, in place of the one that the chat template may contain"}};
}

Flags template_flags() {
  return {{.name = "--no-chat-template",
           .group = "Input",
           .help = "Give the prompt to the model as it is, without the chat template"}};
}

Flags sampling_flags() {
  constexpr std::string_view kGroup = "Sampling";
  return {
      {.name = "--max-tokens",
       .short_name = "-n",
       .placeholder = "N",
       .type = IntegerValue{.min = 1, .max = 1'000'000},
       .default_text = "256",
       .group = kGroup,
       .help = "Stop after N tokens of answer"},
      {.name = "--temp",
       .placeholder = "T",
       .type = NumberValue{.min = 0, .max = 10},
       .default_text = "0",
       .group = kGroup,
       .help = "Temperature; 0 always takes the most likely token"},
      {.name = "--top-p",
       .placeholder = "P",
       .type = NumberValue{.min = 0, .max = 1, .above_min = true},
       .default_text = "1",
       .group = kGroup,
       .help = "Draw from the most likely tokens that together reach probability P; 1 is off"},
      {.name = "--top-k",
       .placeholder = "K",
       .type = IntegerValue{.min = 0, .max = 1'000'000},
       .default_text = "0",
       .group = kGroup,
       .help = "Draw from the K most likely tokens; 0 is off"},
      {.name = "--min-p",
       .placeholder = "P",
       .type = NumberValue{.min = 0, .max = 1},
       .default_text = "0",
       .group = kGroup,
       .help = "Leave out tokens less likely than P times the most likely one; 0 is off"},
      {.name = "--repetition-penalty",
       .placeholder = "R",
       .type = NumberValue{.min = 0, .max = 10, .above_min = true},
       .default_text = "1",
       .group = kGroup,
       .help = "Make tokens that occurred before less likely (above 1) or more (below); 1 is off"},
      {.name = "--frequency-penalty",
       .placeholder = "F",
       .type = NumberValue{.min = -2, .max = 2},
       .default_text = "0",
       .group = kGroup,
       .help = "Subtract F from a token's logit for each time it was written"},
      {.name = "--presence-penalty",
       .placeholder = "F",
       .type = NumberValue{.min = -2, .max = 2},
       .default_text = "0",
       .group = kGroup,
       .help = "Subtract F from a token's logit if it was written at all"},
      {.name = "--seed",
       .placeholder = "S",
       .type = IntegerValue{.min = 0},
       .group = kGroup,
       .help = "Seed of the random draws, to repeat an answer; without it each run differs"},
      {.name = "--stop",
       .placeholder = "TEXT",
       .type = TextValue{},
       .repeatable = true,
       .group = kGroup,
       .help = "End the answer before this text"},
      {.name = "--ignore-eos",
       .group = kGroup,
       .help = "Go on past the model's end-of-text token, up to --max-tokens"},
  };
}

Flags runtime_flags() {
  constexpr std::string_view kGroup = "Runtime";
  return {
      {.name = "--ctx-size",
       .placeholder = "N",
       .type = IntegerValue{.min = 0, .max = 16'777'216},
       .default_text = "0",
       .group = kGroup,
       .help = "Most tokens of prompt and answer together; 0 is the model's own limit"},
      {.name = "--prefill-chunk",
       .placeholder = "N",
       .type = IntegerValue{.min = 1, .max = 16'777'216},
       .default_text = "512",
       .group = kGroup,
       .help = "Read the prompt in steps of N tokens; smaller needs less memory, larger is faster"},
      {.name = "--kv-type",
       .placeholder = "TYPE",
       .type = ChoiceValue{{"f32", "bf16", "f16"}},
       .default_text = "f32",
       .group = kGroup,
       .help = "Number format of the key-value cache"},
      {.name = "--threads",
       .placeholder = "N",
       .type = IntegerValue{.min = 0, .max = 1024},
       .default_text = "0",
       .group = kGroup,
       .help = "Threads to compute with; 0 is one for each physical core"},
      {.name = "--backend",
       .placeholder = "NAME",
       .type = ChoiceValue{{"mlx"}},
       .default_text = "mlx",
       .group = kGroup,
       .help = "What computes"},
  };
}

Flags json_flags(std::string_view help) {
  return {{.name = "--json", .group = "Output", .help = help}};
}

Flags verbosity_flags() {
  return {{.name = "--verbose",
           .short_name = "-v",
           .excludes = "--quiet",
           .group = "Output",
           .help = "Report each stage with its time on standard error"},
          {.name = "--quiet",
           .short_name = "-q",
           .excludes = "--verbose",
           .group = "Output",
           .help = "No progress and no notes on standard error, errors only"}};
}

Flags models_dir_flags() {
  return {{.name = "--models-dir",
           .placeholder = "DIR",
           .type = PathValue{},
           .complete = Completion::kDirectory,
           .group = "Model",
           .help = "Look in this folder, before the usual ones"}};
}

}  // namespace mlxcel::cli
