// Progress on a terminal, silence in a pipe.
#pragma once

#include <cstdint>
#include <string>

namespace mlxcel::cli {

// A line on stderr that is rewritten in place; gone when the object ends. Does nothing when stderr
// is no terminal or when it is made silent.
class ProgressLine {
 public:
  explicit ProgressLine(bool silent);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  void clear();

 private:
  bool active_;
  bool shown_ = false;
};

}  // namespace mlxcel::cli
