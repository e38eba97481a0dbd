// Elapsed time on the steady clock.
#pragma once

#include <chrono>

namespace mlxcel::base {

class Stopwatch {
 public:
  // Milliseconds since construction.
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace mlxcel::base
