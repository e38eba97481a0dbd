// The `loop` variable of a for block. Elements are drawn one at a time, because the condition of
// the loop is only asked when an element is due (jinja2's LoopContext).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "text/jinja_value.h"

namespace mlxcel::text {

struct LoopState {
  // Elements of any iterable; throws when the value is not one.
  LoopState(Budget& budget, const Value& iterable);

  // Moves on; false at the end.
  bool advance();
  std::optional<size_t> length();  // draws the rest when the length is not known beforehand
  const std::optional<Value>& peek();
  Value previous() const;
  Value next();
  bool changed(Budget& budget, Value value);
  void finish();  // lets go of all values

  std::function<bool(const Value&)> accepts;  // the condition, if there is one
  int64_t index0 = -1;
  Value current;

 private:
  std::optional<Value> draw();

  std::vector<Value> source_;
  size_t position_ = 0;
  GeneratorPtr generator_;
  std::optional<Value> after_;
  Value before_;
  Value last_changed_;
  std::optional<size_t> length_;
  bool finished_ = false;
};

// Attributes of the loop variable (index, first, ...); nothing for other names.
std::optional<Value> loop_attribute(LoopState& loop, std::string_view name);

}  // namespace mlxcel::text
