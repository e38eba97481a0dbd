#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace mlxcel::cli {

ProgressLine::ProgressLine(bool silent) : active_(!silent && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  if (!active_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace mlxcel::cli
