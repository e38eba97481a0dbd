#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace mlxcel::text {
namespace {

// The length of the longest prefix of `text` that ends with `next`, when `matched` bytes of it came
// right before.
size_t advance(const std::string& text, const std::vector<size_t>& fallback, size_t matched,
               char next) {
  while (matched > 0 && (matched == text.size() || text[matched] != next))
    matched = fallback[matched - 1];
  return text[matched] == next ? matched + 1 : 0;
}

}  // namespace

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& text : stops) {
    if (text.empty()) throw base::bad_input("a stop string is empty");
    if (!base::is_valid_utf8(text)) throw base::bad_input("a stop string is not valid UTF-8");
    Stop stop{text, {0}, 0};
    for (size_t i = 1; i < text.size(); ++i) {
      stop.fallback.push_back(advance(text, stop.fallback, stop.fallback.back(), text[i]));
    }
    stops_.push_back(std::move(stop));
  }
}

StopMatcher::Step StopMatcher::push(std::string_view delta) {
  if (stopped_) return {{}, true};
  for (const char byte : delta) {
    held_ += byte;
    size_t complete = 0;
    for (Stop& stop : stops_) {
      stop.matched = advance(stop.text, stop.fallback, stop.matched, byte);
      if (stop.matched == stop.text.size()) complete = std::max(complete, stop.matched);
    }
    if (complete > 0) {
      held_.resize(held_.size() - complete);
      stopped_ = true;
      return {std::exchange(held_, {}), true};
    }
  }
  size_t undecided = 0;
  for (const Stop& stop : stops_) undecided = std::max(undecided, stop.matched);
  std::string text = held_.substr(0, held_.size() - undecided);
  held_.erase(0, text.size());
  return {std::move(text), false};
}

std::string StopMatcher::flush() {
  for (Stop& stop : stops_) stop.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace mlxcel::text
