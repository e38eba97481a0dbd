// Attributes, items and slices.
#include <algorithm>

#include "base/error.h"
#include "text/jinja_loop.h"
#include "text/jinja_operators.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

// What the immutable sandbox hides.
constexpr std::string_view kListMutators[] = {"append", "clear", "pop",    "reverse",
                                              "insert", "sort",  "extend", "remove"};
constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};

bool is_mutator(const Value& object, std::string_view name) {
  const auto listed = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (object.is<DictPtr>()) return listed(kDictMutators);
  const auto* sequence = object.get<SequencePtr>();
  return sequence != nullptr && (*sequence)->kind == SequenceKind::kList && listed(kListMutators);
}

std::string object_name(const Value& object) {
  return object.is<None>() ? "None" : std::string(type_name(object)) + " object";
}

std::string shown(std::string_view name) {
  return std::string(name.substr(0, byte_of_code_point(name, 60)));
}

Value no_attribute(const Value& object, std::string_view name) {
  return make_undefined(
      fmt::format("'{}' has no attribute '{}'", object_name(object), shown(name)));
}

std::optional<Value> macro_attribute(Budget& budget, const MacroDefinition& macro,
                                     std::string_view name) {
  if (name == "name") return Value(macro.name);
  if (name == "arguments") {
    return make_tuple(budget, {macro.parameters.begin(), macro.parameters.end()});
  }
  if (name == "caller") return Value(macro.caller_slot >= 0);
  if (name == "catch_kwargs") return Value(macro.kwargs_slot >= 0);
  if (name == "catch_varargs") return Value(macro.varargs_slot >= 0);
  return std::nullopt;
}

// An index as Python resolves it; nothing when it is outside.
std::optional<size_t> resolve_index(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

std::optional<Value> find_item(Runtime& runtime, const Value& object, const Value& key) {
  Budget& budget = runtime.budget;
  if (const auto* dict = object.get<DictPtr>()) {
    const auto* sequence = key.get<SequencePtr>();
    const bool tuple = sequence != nullptr && (*sequence)->kind == SequenceKind::kTuple;
    if (!tuple && (sequence != nullptr || key.is<DictPtr>())) return std::nullopt;  // unhashable
    const Value* found = (*dict)->find(budget, key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const auto index = as_int(key);
  if (!index) return std::nullopt;
  if (const Text* text = object.text()) {
    budget.scan(text->bytes.size());
    const auto place = resolve_index(*index, count_code_points(text->bytes));
    if (!place) return std::nullopt;
    const size_t begin = byte_of_code_point(text->bytes, *place);
    return Value(slice_text(budget, *text, begin, next_code_point(text->bytes, begin)));
  }
  const auto* sequence = object.get<SequencePtr>();
  if (sequence == nullptr || (*sequence)->kind > SequenceKind::kRange) return std::nullopt;
  const auto place = resolve_index(*index, (*sequence)->items.size());
  return place ? std::optional((*sequence)->items[*place]) : std::nullopt;
}

struct SliceBounds {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// PySlice_AdjustIndices.
SliceBounds adjust(const Value& start, const Value& stop, const Value& step, int64_t size) {
  const auto part = [](const Value& value) -> std::optional<int64_t> {
    if (value.is<Missing>() || value.is<None>()) return std::nullopt;
    if (value.is<Undefined>()) throw_undefined(value);
    const auto number = as_int(value);
    if (!number)
      throw bad_input("slice indices must be integers or None, found '{}'", type_name(value));
    return number;
  };
  SliceBounds bounds;
  bounds.step = part(step).value_or(1);
  if (bounds.step == 0) throw bad_input("slice step cannot be zero");
  // A step beyond the size in either direction takes one element; so clamped, nothing overflows.
  bounds.step = std::clamp(bounds.step, -size - 1, size + 1);
  const bool backward = bounds.step < 0;
  const auto clip = [&](std::optional<int64_t> index, int64_t fallback) {
    if (!index) return fallback;
    if (*index < 0) *index = *index < -size ? (backward ? -1 : 0) : *index + size;
    return std::min(*index, backward ? size - 1 : size);
  };
  bounds.start = clip(part(start), backward ? size - 1 : 0);
  bounds.stop = clip(part(stop), backward ? -1 : size);
  if (backward && bounds.stop < bounds.start) {
    bounds.count = (bounds.start - bounds.stop - 1) / -bounds.step + 1;
  } else if (!backward && bounds.start < bounds.stop) {
    bounds.count = (bounds.stop - bounds.start - 1) / bounds.step + 1;
  }
  return bounds;
}

Value slice_of_text(Budget& budget, const Text& text, const SliceBounds& bounds, bool ascii) {
  const auto byte_at = [&](int64_t index) {
    const auto place = static_cast<size_t>(index);
    return ascii ? place : byte_of_code_point(text.bytes, place);
  };
  if (bounds.count == 0) return slice_text(budget, text, 0, 0);
  if (bounds.step == 1)
    return slice_text(budget, text, byte_at(bounds.start), byte_at(bounds.stop));
  std::vector<size_t> starts;  // of every code point, when positions are not byte positions
  if (!ascii) {
    budget.allocate(text.bytes.size(), sizeof(size_t));
    for (size_t at = 0; at < text.bytes.size(); at = next_code_point(text.bytes, at))
      starts.push_back(at);
  }
  TextBuilder out(budget);
  for (int64_t i = 0; i < bounds.count; ++i) {
    const auto index = static_cast<size_t>(bounds.start + i * bounds.step);
    const size_t begin = ascii ? index : starts[index];
    out.append(text, begin, next_code_point(text.bytes, begin));
  }
  Text result = out.take();
  result.markup = text.markup;
  return std::make_shared<const Text>(std::move(result));
}

}  // namespace

std::optional<Value> find_attribute(Runtime& runtime, const Value& object, const TextPtr& name) {
  const std::string& bytes = name->bytes;
  if (object.is<Undefined>()) throw_undefined(object);
  if (const auto* names = object.get<NamespacePtr>()) {
    const Value* found = (*names)->find(bytes);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const bool internal = bytes.size() > 4 && bytes.starts_with("__") && bytes.ends_with("__");
  if (internal || is_mutator(object, bytes)) {
    return make_undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe",
                                      shown(bytes), type_name(object)));
  }
  if (const auto* loop = object.get<LoopPtr>()) {
    if (auto value = loop_attribute(**loop, bytes)) return value;
  }
  if (const auto* callable = object.get<CallablePtr>();
      callable != nullptr && (*callable)->macro != nullptr) {
    return macro_attribute(runtime.budget, *(*callable)->macro, bytes);
  }
  if (const Function* method = find_method(object, bytes)) {
    if (depth_of(object) >= runtime.budget.limits().value_depth) {
      throw base::resource_error("the template nests values deeper than {} levels",
                                 runtime.budget.limits().value_depth);
    }
    auto bound = std::make_shared<Callable>();
    bound->function = method;
    bound->self = object;
    return Value(CallablePtr(std::move(bound)));
  }
  return std::nullopt;
}

Value get_attribute(Runtime& runtime, const Value& object, const TextPtr& name) {
  if (auto found = find_attribute(runtime, object, name)) return *found;
  if (object.is<DictPtr>()) {
    if (auto item = find_item(runtime, object, Value(name))) return *item;
  }
  return no_attribute(object, name->bytes);
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is<Undefined>()) throw_undefined(object);
  if (auto item = find_item(runtime, object, key)) return *item;
  if (const auto* name = key.get<TextPtr>()) {
    if (auto found = find_attribute(runtime, object, *name)) return *found;
    return no_attribute(object, (*name)->bytes);
  }
  const auto number = as_int(key);
  return make_undefined(number ? fmt::format("{} has no element {}", object_name(object), *number)
                               : fmt::format("{} has no such element", object_name(object)));
}

Value get_slice(Budget& budget, const Value& object, const Value& start, const Value& stop,
                const Value& step) {
  if (object.is<Undefined>()) throw_undefined(object);
  if (const Text* text = object.text()) {
    budget.scan(text->bytes.size());
    const size_t size = count_code_points(text->bytes);
    return slice_of_text(budget, *text, adjust(start, stop, step, static_cast<int64_t>(size)),
                         size == text->bytes.size());
  }
  const auto* sequence = object.get<SequencePtr>();
  if (sequence == nullptr || (*sequence)->kind > SequenceKind::kRange) {
    if (object.is<DictPtr>()) throw bad_input("unhashable type: 'slice'");
    throw bad_input("'{}' object is not subscriptable", type_name(object));
  }
  const std::vector<Value>& items = (*sequence)->items;
  const SliceBounds bounds = adjust(start, stop, step, static_cast<int64_t>(items.size()));
  std::vector<Value> picked;
  budget.allocate(static_cast<uint64_t>(bounds.count), sizeof(Value));
  for (int64_t i = 0; i < bounds.count; ++i) {
    picked.push_back(items[static_cast<size_t>(bounds.start + i * bounds.step)]);
  }
  if ((*sequence)->kind != SequenceKind::kRange)
    return make_sequence(budget, (*sequence)->kind, std::move(picked));
  auto range = std::make_shared<Sequence>();
  const int64_t first = (*sequence)->range[0];
  const int64_t stride = (*sequence)->range[2];
  range->kind = SequenceKind::kRange;
  // In unsigned arithmetic: the end that a slice names may lie beyond 64 bits, its elements do not.
  const auto at = [first, stride](int64_t index) {
    return static_cast<int64_t>(static_cast<uint64_t>(first) +
                                static_cast<uint64_t>(index) * static_cast<uint64_t>(stride));
  };
  range->range = {
      at(bounds.start), at(bounds.stop),
      static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(bounds.step))};
  range->items = std::move(picked);
  return SequencePtr(std::move(range));
}

}  // namespace mlxcel::text
