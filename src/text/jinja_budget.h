// What one rendering may cost. Templates come from checkpoints and data from requests, both
// untrusted: every loop, copy and recursion of the interpreter draws on this budget, so that a
// hostile one ends in an error that names the limit instead of a hang or an exhausted machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace mlxcel::text {

struct JinjaLimits {
  uint64_t steps = 20'000'000;  // nodes evaluated, elements visited, 32-byte pieces scanned
  uint64_t bytes = uint64_t{512} << 20U;  // all values made during a rendering, together
  uint64_t output_bytes = uint64_t{64} << 20U;
  int depth = 800;        // nested statements, expressions and macro calls while rendering
  int value_depth = 200;  // lists in lists
};

class Budget {
 public:
  explicit Budget(const JinjaLimits& limits) : limits_(limits) {}

  void step(uint64_t count = 1) {
    if (count > limits_.steps - steps_) {
      throw base::resource_error("the template needs more than {} steps", limits_.steps);
    }
    steps_ += count;
  }
  // Before `count` bytes are read or compared.
  void scan(uint64_t count) { step(1 + count / 32); }
  // Before `count` bytes are allocated.
  void allocate(uint64_t count) {
    if (count > limits_.bytes - bytes_) {
      throw base::resource_error("the template makes more than {} bytes of values", limits_.bytes);
    }
    bytes_ += count;
    scan(count);
  }
  // Before `count` elements of `size` bytes each are allocated.
  void allocate(uint64_t count, uint64_t size) {
    if (count > limits_.bytes / (size == 0 ? 1 : size)) {
      throw base::resource_error("the template makes more than {} bytes of values", limits_.bytes);
    }
    allocate(count * size);
  }

  const JinjaLimits& limits() const { return limits_; }

  // One level deeper for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (budget_.depth_ >= budget_.limits_.depth) {
        throw base::resource_error("the template nests calls and blocks deeper than {} levels",
                                   budget_.limits_.depth);
      }
      ++budget_.depth_;
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  JinjaLimits limits_;
  uint64_t steps_ = 0;
  uint64_t bytes_ = 0;
  int depth_ = 0;
};

}  // namespace mlxcel::text
