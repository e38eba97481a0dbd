// `chat`: a conversation on the terminal. The session keeps what it has computed, so that a further
// question costs only its own tokens, and a picture is encoded once.
#include <unistd.h>

#include <iostream>
#include <sstream>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/utf8.h"
#include "cli/actions.h"
#include "cli/runtime.h"

namespace mlxcel::cli {
namespace {

constexpr std::string_view kHelp =
    "/image FILE   add a picture to the next message\n"
    "/system TEXT  set the system text and start again\n"
    "/clear        forget the conversation and its pictures\n"
    "/stats        show what the last answer took\n"
    "/help         this list\n"
    "/exit         leave (also Ctrl-D)\n";

class Chat {
 public:
  Chat(const FlagValues& flags, const Runtime& runtime, ProgressLine& progress)
      : flags_(flags),
        runtime_(runtime),
        progress_(progress),
        session_(runtime.model(), session_options(flags)) {
    if (!runtime.model().chat_template)
      throw base::not_found("{}: no chat template there", flags.text("--model"));
    if (flags.has("--system")) system_ = flags.text("--system");
    clear();
    for (const std::string& file : flags.all("--image")) add_picture(file);
  }

  // False to leave.
  bool handle(const std::string& line) {
    if (line.empty()) return true;
    if (line.front() != '/') {
      ask(line);
      return true;
    }
    const size_t space = line.find(' ');
    const std::string command = line.substr(0, space);
    const std::string argument =
        space == std::string::npos ? "" : line.substr(line.find_first_not_of(' ', space));
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/image" && !argument.empty()) {
      add_picture(argument);
    } else if (command == "/system") {
      system_ = argument;
      clear();
    } else if (command == "/clear" || command == "/reset") {
      clear();
    } else if (command == "/stats") {
      print_timings(runtime_.load_ms(), preprocess_ms_, last_);
    } else {
      std::cerr << kHelp;
    }
    return true;
  }

 private:
  void clear() {
    session_.reset();
    messages_.clear();
    pictures_.clear();
    waiting_ = 0;
    if (!system_.empty())
      messages_.push_back({"system", {{engine::ContentPart::Kind::kText, system_}}});
  }

  void add_picture(const std::string& file) {
    const base::Stopwatch watch;
    pictures_.push_back(runtime_.picture(file));
    preprocess_ms_ = watch.ms();
    ++waiting_;
    const image::Grid& grid = pictures_.back().grid;
    std::cerr << fmt::format("[{}: {} tokens]\n", file,
                             runtime_.model().processor->image_tokens(grid));
  }

  void ask(const std::string& text) {
    using Kind = engine::ContentPart::Kind;
    engine::Message user = {"user", {}};
    for (size_t i = 0; i < waiting_; ++i) user.content.push_back({Kind::kImage, ""});
    user.content.push_back({Kind::kText, base::repair_utf8(text)});
    messages_.push_back(std::move(user));
    const engine::LoadedModel& model = runtime_.model();
    try {
      const auto ids =
          engine::encode_conversation(messages_, *model.chat_template, model.tokenizer);
      const auto prompt =
          engine::expand_placeholders(ids, model.info(), image_token_counts(runtime_, pictures_));
      std::vector<const image::Patches*> views;
      for (const image::Patches& picture : pictures_) views.push_back(&picture);
      forget_interrupt();
      const auto result = session_.generate(prompt, views, generate_options(flags_),
                                            terminal_callbacks(progress_, true));
      progress_.clear();
      std::cout << "\n" << std::flush;
      messages_.push_back({"assistant", {{Kind::kText, result.text}}});
      last_ = result.timings;
      waiting_ = 0;
    } catch (const base::Error&) {
      // The question did not fit or could not be asked: as if it had not been typed.
      messages_.pop_back();
      throw;
    }
    if (flags_.on("--verbose")) print_timings(runtime_.load_ms(), preprocess_ms_, last_);
  }

  const FlagValues& flags_;
  const Runtime& runtime_;
  ProgressLine& progress_;
  engine::Session session_;
  std::string system_;
  engine::Conversation messages_;
  std::vector<image::Patches> pictures_;  // of the whole conversation, in order
  size_t waiting_ = 0;                    // of these, not yet part of a message
  double preprocess_ms_ = 0;
  engine::Timings last_;
};

}  // namespace

int run_chat(const FlagValues& flags) {
  ProgressLine progress(flags.on("--quiet"));
  const Runtime runtime(flags, progress);
  Chat chat(flags, runtime, progress);
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) std::cerr << "Type a message, /image FILE to add a picture, /help for more.\n";
  std::string line;
  while (true) {
    if (terminal) std::cerr << "> ";
    if (!std::getline(std::cin, line)) break;
    try {
      if (!chat.handle(line)) break;
    } catch (const base::Error& error) {
      // In a conversation a mistake is no reason to end it; in a pipe nobody can correct it.
      if (!terminal) throw;
      progress.clear();
      std::cerr << "mlxcel: " << error.what() << "\n";
    }
  }
  return 0;
}

}  // namespace mlxcel::cli
