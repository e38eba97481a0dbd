#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <new>

#include "base/error.h"
#include "text/regex_syntax.h"

namespace mlxcel::text {
namespace {

constexpr size_t kMaxPattern = 16384;       // bytes; those in use have a few hundred
constexpr uint32_t kMaxNesting = 64;        // brackets
constexpr uint32_t kMaxHeapKib = 64 << 10;  // of one match
constexpr uint32_t kMaxDepth = 200'000;     // nested backtracking
// Steps of one match: linear in the text for every sane pattern, so the allowance is too.
constexpr uint64_t kBaseSteps = 100'000;
constexpr uint64_t kStepsPerByte = 32;

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;

const uint8_t* units(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

std::string message_of(int code) {
  std::array<uint8_t, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

template <typename T>
T* checked(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> code;
  std::string where;
};

struct Regex::Searcher::State {
  MatchContext limits;
  MatchData data;
};

Regex Regex::oniguruma(std::string_view pattern, const std::string& where) {
  if (pattern.size() > kMaxPattern) {
    throw base::bad_input("{}: a pattern of {} bytes, expected at most {}", where, pattern.size(),
                          kMaxPattern);
  }
  return {oniguruma_to_pcre2(pattern, where), where};
}

Regex Regex::literal(std::string_view text, const std::string& where) {
  if (text.empty() || text.size() > kMaxPattern) {
    throw base::bad_input("{}: a pattern of {} bytes, expected 1 to {}", where, text.size(),
                          kMaxPattern);
  }
  return {quote_for_pcre2(text), where};
}

Regex::Regex(const std::string& pcre2_pattern, const std::string& where) {
  const CompileContext context(checked(pcre2_compile_context_create(nullptr)));
  pcre2_set_parens_nest_limit(context.get(), kMaxNesting);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t offset = 0;
  constexpr uint32_t kOptions =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
  auto code = std::make_shared<Code>();
  code->where = where;
  code->code.reset(pcre2_compile(units(pcre2_pattern), pcre2_pattern.size(), kOptions, &error,
                                 &offset, context.get()));
  if (!code->code) {
    throw base::bad_input("{}: not a pattern that can be used: {}", where, message_of(error));
  }
  // Where the system forbids new machine code, matching is interpreted: slower, and the same.
  pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE);
  code_ = std::move(code);
}

Regex::Searcher::Searcher(const Regex& regex, std::string_view text)
    : regex_(regex), text_(text), state_(std::make_unique<State>()) {
  state_->limits.reset(checked(pcre2_match_context_create(nullptr)));
  const uint64_t steps = kBaseSteps + kStepsPerByte * text.size();
  pcre2_set_match_limit(state_->limits.get(),
                        static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
  pcre2_set_depth_limit(state_->limits.get(), kMaxDepth);
  pcre2_set_heap_limit(state_->limits.get(), kMaxHeapKib);
  state_->data.reset(checked(pcre2_match_data_create(1, nullptr)));
}

Regex::Searcher::~Searcher() = default;

std::optional<Regex::Match> Regex::Searcher::next() {
  while (from_ <= text_.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(regex_.code_->code.get(), units(text_), text_.size(), from_,
                         PCRE2_NO_UTF_CHECK | options, state_->data.get(), state_->limits.get());
    };
    int code = match(0);
    // Machine code has a small stack of its own; the interpreter has the heap.
    if (code == PCRE2_ERROR_JIT_STACKLIMIT) code = match(PCRE2_NO_JIT);
    if (code == PCRE2_ERROR_NOMATCH) break;
    if (code < 0) {
      throw base::resource_error("{}: the pattern is too slow on a text of {} bytes: {}",
                                 regex_.code_->where, text_.size(), message_of(code));
    }
    const size_t* bounds = pcre2_get_ovector_pointer(state_->data.get());
    const Match found{bounds[0], bounds[1]};
    if (found.begin > found.end) break;  // cannot happen without \K, which is refused
    if (found.begin == found.end && last_end_ == found.end) {
      ++from_;
      while (from_ < text_.size() && (static_cast<uint8_t>(text_[from_]) & 0xC0U) == 0x80U) ++from_;
      continue;
    }
    from_ = found.end;
    last_end_ = found.end;
    return found;
  }
  from_ = text_.size() + 1;
  return std::nullopt;
}

}  // namespace mlxcel::text
