// Patterns that come out of a checkpoint, run on text that comes from anyone: both are untrusted,
// so compiling and matching have limits, and reaching one is an error, never a hang or a crash.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mlxcel::text {

class Regex {
 public:
  // A pattern in Oniguruma's dialect, as tokenizer.json holds it. `where` names the file and field
  // in errors: kBadInput for a malformed pattern, kUnsupported for a construct that PCRE2 reads
  // otherwise.
  static Regex oniguruma(std::string_view pattern, const std::string& where);
  // Matches the text itself; not empty.
  static Regex literal(std::string_view text, const std::string& where);

  struct Match {
    size_t begin, end;
  };
  // Walks over the matches in one text, from left to right and without overlap. The text must be
  // valid UTF-8 and outlive the searcher. One thread uses a searcher; any number may share a Regex.
  class Searcher {
   public:
    Searcher(const Regex& regex, std::string_view text);
    ~Searcher();
    Searcher(const Searcher&) = delete;
    Searcher& operator=(const Searcher&) = delete;

    // Throws kResource when the pattern takes too many steps or too much memory on this text. An
    // empty match right behind the previous match does not count, as in the reference.
    std::optional<Match> next();

   private:
    struct State;
    const Regex& regex_;
    std::string_view text_;
    size_t from_ = 0;
    std::optional<size_t> last_end_;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  Regex(const std::string& pcre2_pattern, const std::string& where);
  std::shared_ptr<const Code> code_;
};

}  // namespace mlxcel::text
