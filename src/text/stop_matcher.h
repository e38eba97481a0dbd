// Ends a stream of text at the first stop string, however the stream is cut into pieces: text that
// could be the begin of one is held back until that is decided.
//
//   StopMatcher matcher({"\nUser:", "###"});
//   auto step = matcher.push(delta);  // step.text can be shown; end the sequence when step.stopped
//   ...
//   show(matcher.flush());            // at the end of a sequence that did not stop
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::text {

class StopMatcher {
 public:
  // Throws kBadInput for a stop string that is empty or not UTF-8. No stop strings: nothing is
  // held.
  explicit StopMatcher(const std::vector<std::string>& stops);

  struct Step {
    std::string text;  // to be passed on: without the stop string and what follows it
    bool stopped = false;
  };
  // The stop string that is complete first counts (of several that end at one byte, the longest),
  // which does not depend on how the text is cut. After it everything is ignored.
  Step push(std::string_view delta);

  // The text that is still held. Empty after a stop.
  std::string flush();

 private:
  struct Stop {
    std::string text;
    std::vector<size_t> fallback;  // Knuth-Morris-Pratt: longest proper border of each prefix
    size_t matched = 0;            // bytes of `text` that the stream ends with
  };
  std::vector<Stop> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace mlxcel::text
