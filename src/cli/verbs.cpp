// The table of verbs. The flags that several of them share come from shared_flags.cpp.
#include "cli/verbs.h"

#include <algorithm>

#include "cli/shared_flags.h"

namespace mlxcel::cli {
namespace {

Flags generate_flags() {
  return combine(
      {model_flags(), picture_flags("Picture to look at; repeat it for several, in this order"),
       prompt_flags(), system_flags(), template_flags(), sampling_flags(), runtime_flags(),
       json_flags("Print one JSON object (text, tokens, usage, timings) at the end"),
       verbosity_flags()});
}

Verb generate_verb() {
  return {
      .name = "generate",
      .summary = "Answer one prompt, with or without pictures",
      .description = {"The answer streams to standard output; everything else (progress, notes, "
                      "errors) goes to standard error. With --json nothing streams: one object "
                      "is printed when the answer is complete.",
                      "A text that begins with the name of a flag is written with an equals "
                      "sign, as in --prompt=--help."},
      .examples = {{"Describe a picture",
                    "mlxcel generate -m mage-vl-demo --image cat.jpg -p \"What is this?\""},
                   {"Compare two pictures, with sampling",
                    "mlxcel generate -m mage-vl-demo --image before.png --image after.png -p "
                    "\"What changed?\" --temp 0.7 --top-p 0.9 --seed 1"},
                   {"Read the prompt from a file and keep the answer as JSON",
                    "mlxcel generate -m ./models/mage-vl-demo -p - --json < question.txt > "
                    "answer.json"},
                   {"Stop at the first full stop, after at most 32 tokens",
                    "mlxcel generate -m mage-vl-demo --image sign.webp -p \"Read the sign.\" "
                    "-n 32 --stop ."}},
      .flags = generate_flags()};
}

Verb chat_verb() {
  return {.name = "chat",
          .summary = "Talk with a model about pictures, turn by turn",
          .description =
              {"Reads a line, answers, and remembers the conversation. Lines that begin with a "
               "slash are commands: /image FILE adds a picture to the next turn; /clear (or "
               "/reset) forgets the conversation and its pictures; /system TEXT sets the system "
               "prompt and starts over; /stats shows tokens and speed of the last answer; /help "
               "lists the commands; /exit (or end of input) leaves.",
               "Pictures given with --image belong to the first turn."},
          .examples = {{"Start with a picture", "mlxcel chat -m mage-vl-demo --image receipt.jpg"},
                       {"Short answers in one language",
                        "mlxcel chat -m mage-vl-demo --system \"Answer in one French sentence.\""},
                       {"Livelier answers", "mlxcel chat -m mage-vl-demo --temp 0.8 --min-p 0.05"}},
          .flags = combine({model_flags(),
                            picture_flags("Picture for the first turn; repeat it for several"),
                            system_flags(), sampling_flags(), runtime_flags(), verbosity_flags()})};
}

Verb dump_verb() {
  const Flags output = {{.name = "--output",
                         .short_name = "-o",
                         .placeholder = "FILE",
                         .type = PathValue{},
                         .required = true,
                         .complete = Completion::kFile,
                         .group = "Output",
                         .help = "Safetensors file to write"}};
  return {.name = "dump",
          .summary = "Write every stage of one answer to a safetensors file",
          .description = {"For comparing with a reference implementation: pixel values, vision "
                          "blocks, positions, embeddings, the input of each decoder layer, logits "
                          "and tokens, as f32 or integers. It takes the options of 'generate', but "
                          "tokens are always chosen greedily: sampling flags have no effect."},
          .examples = {{"Dump the first eight tokens of an answer",
                        "mlxcel dump -m mage-vl-demo --image cat.jpg -p \"What is this?\" -n 8 -o "
                        "stages.safetensors"},
                       {"The same with the prompt read in chunks of seven tokens",
                        "mlxcel dump -m mage-vl-demo --image cat.jpg -p \"What is this?\" -n 8 "
                        "--prefill-chunk 7 -o chunked.safetensors"}},
          .flags = combine({generate_flags(), output})};
}

Verb inspect_verb() {
  return {.name = "inspect",
          .summary = "Show what a checkpoint contains",
          .description = {"Reads configuration and tensor headers without loading the weights: "
                          "family, sizes, quantisation, tensors and their shapes."},
          .examples = {{"A checkpoint by name", "mlxcel inspect -m mage-vl-demo"},
                       {"A checkpoint in a folder, for a script",
                        "mlxcel inspect -m ./models/mage-vl-demo --json"}},
          .flags = combine({model_flags(), json_flags("Print one JSON object")})};
}

Verb list_verb() {
  const Flags names = {{.name = "--names",
                        .excludes = "--json",
                        .group = "Output",
                        .help = "Print only the names, one on each line"}};
  return {.name = "list",
          .summary = "List the checkpoints on this machine",
          .description = {"Searched are the folder of --models-dir, $MLXCEL_MODELS, ./models, "
                          "~/.local/share/mlxcel/models, share/mlxcel/models beside the installed "
                          "program, and the Hugging Face cache. --model takes the names that "
                          "'mlxcel list' shows without --models-dir; any other checkpoint is given "
                          "by its path."},
          .examples = {{"Checkpoints in the usual folders", "mlxcel list"},
                       {"Checkpoints elsewhere, for a script",
                        "mlxcel list --models-dir /srv/models --json"}},
          .flags = combine({models_dir_flags(), json_flags("Print a JSON list"), names})};
}

Verb completion_verb() {
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .examples = {{"bash, for this session", "source <(mlxcel completion bash)"},
                       {"zsh, into a folder of $fpath", "mlxcel completion zsh > ~/.zfunc/_mlxcel"},
                       {"fish, for all sessions",
                        "mlxcel completion fish > ~/.config/fish/completions/mlxcel.fish"}},
          .positionals = {{.name = "SHELL",
                           .type = ChoiceValue{{"bash", "zsh", "fish"}},
                           .required = true,
                           .help = "Shell to print the script for"}}};
}

Verb help_verb(const std::vector<Verb>& others) {
  ChoiceValue names;
  for (const Verb& verb : others) {
    if (!verb.hidden) {
      names.choices.push_back(verb.name);
    }
  }
  names.choices.push_back("help");
  return {.name = "help",
          .summary = "Show help for a command, or the list of commands",
          .examples = {{"All commands", "mlxcel help"}, {"One command", "mlxcel help generate"}},
          .positionals = {{.name = "COMMAND", .type = names, .help = "Command to explain"}}};
}

std::vector<Verb> make_table() {
  std::vector<Verb> verbs = {
      generate_verb(),
      chat_verb(),
      dump_verb(),
      inspect_verb(),
      list_verb(),
      completion_verb(),
      {.name = "version",
       .summary = "Print the version",
       .examples = {{"As a flag", "mlxcel --version"}, {"As a command", "mlxcel version"}}},
      {.name = "man",
       .summary = "Print the manual page in roff",
       .examples = {{"Read it", "mlxcel man | man -l -"},
                    {"Install it", "mlxcel man > ~/.local/share/man/man1/mlxcel.1"}},
       .hidden = true}};
  verbs.push_back(help_verb(verbs));
  for (Verb& verb : verbs) {
    verb.flags.push_back(
        {.name = "--help", .short_name = "-h", .group = "Other", .help = "Show this help"});
  }
  return verbs;
}

}  // namespace

const std::vector<Verb>& verb_table() {
  static const std::vector<Verb> table = make_table();
  return table;
}

const Verb* find_verb(std::string_view name) {
  const auto& table = verb_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string_view> listed_verb_names() {
  std::vector<std::string_view> names;
  for (const Verb& verb : verb_table()) {
    if (!verb.hidden) {
      names.push_back(verb.name);
    }
  }
  return names;
}

std::vector<std::string_view> flag_groups(const Verb& verb) {
  std::vector<std::string_view> groups;
  for (const Flag& flag : verb.flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  return groups;
}

const std::vector<ExitStatus>& exit_statuses() {
  static const std::vector<ExitStatus> statuses = {
      {0, "Success"}, {1, "A failure while running"}, {2, "Wrong usage or wrong input"}};
  return statuses;
}

}  // namespace mlxcel::cli
