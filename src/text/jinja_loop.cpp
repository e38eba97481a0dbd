#include "text/jinja_loop.h"

namespace mlxcel::text {

LoopState::LoopState(Budget& budget, const Value& iterable) {
  if (const auto* generator = iterable.get<GeneratorPtr>()) {
    generator_ = *generator;
  } else {
    source_ = iterate(budget, iterable);
  }
}

std::optional<Value> LoopState::draw() {
  for (;;) {
    std::optional<Value> value;
    if (generator_ != nullptr) {
      value = generator_->draw();
    } else if (position_ < source_.size()) {
      value = source_[position_++];
    }
    if (!value || !accepts || accepts(*value)) return value;
  }
}

bool LoopState::advance() {
  std::optional<Value> item = after_ ? std::move(after_) : draw();
  after_.reset();
  if (!item) return false;
  ++index0;
  before_ = std::move(current);
  current = std::move(*item);
  return true;
}

const std::optional<Value>& LoopState::peek() {
  if (!after_) after_ = draw();
  return after_;
}

std::optional<size_t> LoopState::length() {
  if (length_ || finished_) return length_;
  if (generator_ == nullptr && !accepts) {
    length_ = source_.size();
    return length_;
  }
  std::vector<Value> rest;
  while (auto item = draw()) rest.push_back(std::move(*item));
  generator_ = nullptr;
  accepts = nullptr;
  source_ = std::move(rest);
  position_ = 0;
  length_ = source_.size() + static_cast<size_t>(index0 + 1) + (after_ ? 1 : 0);
  return length_;
}

Value LoopState::previous() const {
  return index0 == 0 ? make_undefined("there is no previous item") : before_;
}

Value LoopState::next() {
  const auto& item = peek();
  return item ? *item : make_undefined("there is no next item");
}

bool LoopState::changed(Budget& budget, Value value) {
  if (!last_changed_.is<Missing>() && equal(budget, last_changed_, value)) return false;
  if (!finished_) last_changed_ = std::move(value);
  return true;
}

void LoopState::finish() {
  if (generator_ == nullptr && !accepts) length_ = length();
  finished_ = true;
  accepts = nullptr;
  source_.clear();
  position_ = 0;
  generator_ = nullptr;
  after_.reset();
  before_ = Value();
  current = Value();
  last_changed_ = Value();
}

std::optional<Value> loop_attribute(LoopState& loop, std::string_view name) {
  if (name == "index") return Value(loop.index0 + 1);
  if (name == "index0") return Value(loop.index0);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(!loop.peek().has_value());
  if (name == "depth") return Value(int64_t{1});
  if (name == "depth0") return Value(int64_t{0});
  if (name == "previtem") return loop.previous();
  if (name == "nextitem") return loop.next();
  const bool whole = name == "length";
  if (!whole && name != "revindex" && name != "revindex0") return std::nullopt;
  const auto length = static_cast<int64_t>(loop.length().value_or(0));
  if (whole) return Value(length);
  return Value(length - loop.index0 - (name == "revindex0" ? 1 : 0));
}

}  // namespace mlxcel::text
