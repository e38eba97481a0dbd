#include "text/jinja_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::resource_error;

constexpr int64_t kMaxRange = 100'000;  // MAX_RANGE of the reference's sandbox

int sign(auto a, auto b) { return a < b ? -1 : static_cast<int>(b < a); }

// Exact, unlike a conversion of the integer. `b` is not NaN.
int compare_int_double(int64_t a, double b) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (b >= kTwo63) return -1;
  if (b < -kTwo63) return 1;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return sign(a, whole);
  return sign(0.0, b - static_cast<double>(whole));
}

// Nothing for NaN.
std::optional<int> compare_numbers(const Value& a, const Value& b) {
  const auto* real_a = a.get<double>();
  const auto* real_b = b.get<double>();
  if ((real_a != nullptr && std::isnan(*real_a)) || (real_b != nullptr && std::isnan(*real_b))) {
    return std::nullopt;
  }
  if (real_a != nullptr && real_b != nullptr) return sign(*real_a, *real_b);
  if (real_b != nullptr) return compare_int_double(*as_int(a), *real_b);
  if (real_a != nullptr) return -compare_int_double(*as_int(b), *real_a);
  return sign(*as_int(a), *as_int(b));
}

int deepest(Budget& budget, const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  if (depth >= budget.limits().value_depth) {
    throw resource_error("the template nests values deeper than {} levels",
                         budget.limits().value_depth);
  }
  return depth + 1;
}

const void* address(const Value& value) {
  return std::visit(
      [](const auto& held) -> const void* {
        if constexpr (requires { held.get(); }) {
          return held.get();
        } else {
          return nullptr;
        }
      },
      value.storage());
}

// The shortcut that Python takes for elements. Scalars have no identity here.
bool same_object(const Value& a, const Value& b) {
  const void* place = address(a);
  return place != nullptr && place == address(b);
}

// Kinds of keys that never equal one another, in the order of the index.
int key_rank(const Value& value) {
  if (is_number(value)) return 0;
  if (value.is<TextPtr>()) return 1;
  if (value.is<None>()) return 2;
  if (value.is<Undefined>()) return 3;
  if (const auto* sequence = value.get<SequencePtr>()) {
    return (*sequence)->kind == SequenceKind::kTuple ? 4 : 5;
  }
  return 6;
}

}  // namespace

const Value* Namespace::find(std::string_view name) const {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &entries[found->second].second;
}

void Namespace::set(const TextPtr& name, Value value) {
  const auto [place, added] = index.try_emplace(name->bytes, entries.size());
  if (added) {
    entries.emplace_back(name, std::move(value));
  } else {
    entries[place->second].second = std::move(value);
  }
}

std::optional<Value> Generator::draw() {
  if (next < items.size()) return items[next++];
  if (failure) throw base::Error(*std::exchange(failure, std::nullopt));
  return std::nullopt;
}

DictPtr Dict::build(Budget& budget, std::vector<Entry> entries) {
  budget.allocate(entries.size() + 1, sizeof(Entry) + sizeof(uint32_t));
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, value] : entries) require_hashable(budget, key);
  std::vector<uint32_t> order(entries.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return compare_keys(budget, entries[a].first, entries[b].first) < 0;
  });
  // Of equal keys, the first keeps the place and the last gives the value.
  std::vector<bool> dropped(entries.size(), false);
  for (size_t i = 0; i + 1 < order.size();) {
    size_t last = i;
    while (last + 1 < order.size() &&
           compare_keys(budget, entries[order[i]].first, entries[order[last + 1]].first) == 0) {
      dropped[order[++last]] = true;
    }
    if (last != i) entries[order[i]].second = entries[order[last]].second;
    i = last + 1;
  }
  std::vector<uint32_t> place(entries.size(), 0);
  for (uint32_t i = 0; i < entries.size(); ++i) {
    place[i] = static_cast<uint32_t>(dict->entries_.size());
    if (!dropped[i]) dict->entries_.push_back(std::move(entries[i]));
  }
  for (const uint32_t i : order) {
    if (!dropped[i]) dict->sorted_.push_back(place[i]);
  }
  int depth = 0;
  for (const auto& [key, value] : dict->entries_) {
    depth = std::max({depth, depth_of(key), depth_of(value)});
  }
  if (depth >= budget.limits().value_depth) {
    throw resource_error("the template nests values deeper than {} levels",
                         budget.limits().value_depth);
  }
  dict->depth_ = depth + 1;
  return dict;
}

const Value* Dict::find(Budget& budget, const Value& key) const {
  require_hashable(budget, key);
  const auto found = std::lower_bound(
      sorted_.begin(), sorted_.end(), key, [&](uint32_t place, const Value& wanted) {
        return compare_keys(budget, entries_[place].first, wanted) < 0;
      });
  if (found == sorted_.end() || compare_keys(budget, entries_[*found].first, key) != 0)
    return nullptr;
  return &entries_[*found].second;
}

const Value* Dict::find(Budget& budget, std::string_view key) const {
  return find(budget, Value(make_text(std::string(key))));
}

Value make_undefined(std::string message) {
  return Undefined{std::make_shared<const std::string>(std::move(message))};
}

Value make_sequence(Budget& budget, SequenceKind kind, std::vector<Value> items) {
  budget.allocate(items.size() + 2, sizeof(Value));
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  sequence->depth = deepest(budget, items);
  sequence->items = std::move(items);
  return SequencePtr(std::move(sequence));
}

Value make_list(Budget& budget, std::vector<Value> items) {
  return make_sequence(budget, SequenceKind::kList, std::move(items));
}

Value make_tuple(Budget& budget, std::vector<Value> items) {
  return make_sequence(budget, SequenceKind::kTuple, std::move(items));
}

Value make_range(Budget& budget, int64_t start, int64_t stop, int64_t step) {
  if (step == 0) throw bad_input("range() arg 3 must not be zero");
  // In 128 bits: the distance of two 64-bit integers does not fit in 64.
  __extension__ using Wide = __int128;
  const Wide distance = step > 0 ? Wide{stop} - start : Wide{start} - stop;
  const Wide stride = step > 0 ? Wide{step} : -Wide{step};
  const Wide count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  if (count > kMaxRange) throw resource_error("range() is longer than {} elements", kMaxRange);
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = SequenceKind::kRange;
  sequence->range = {start, stop, step};
  budget.allocate(static_cast<uint64_t>(count) + 2, sizeof(Value));
  sequence->items.reserve(static_cast<size_t>(count));
  for (Wide i = 0; i < count; ++i)
    sequence->items.emplace_back(static_cast<int64_t>(start + i * step));
  return SequencePtr(std::move(sequence));
}

Value make_generator(Budget& budget, std::vector<Value> items, std::string_view type) {
  budget.allocate(items.size() + 2, sizeof(Value));
  auto generator = std::make_shared<Generator>();
  generator->type = type;
  generator->depth = deepest(budget, items);
  generator->items = std::move(items);
  return generator;
}

int depth_of(const Value& value) {
  if (const auto* sequence = value.get<SequencePtr>()) return (*sequence)->depth;
  if (const auto* dict = value.get<DictPtr>()) return (*dict)->depth();
  if (const auto* generator = value.get<GeneratorPtr>()) return (*generator)->depth;
  if (const auto* callable = value.get<CallablePtr>()) return depth_of((*callable)->self) + 1;
  return 0;
}

std::string_view type_name(const Value& value) {
  constexpr std::string_view kSequences[] = {"list",      "tuple",       "range",
                                             "dict_keys", "dict_values", "dict_items"};
  if (const auto* sequence = value.get<SequencePtr>()) {
    return kSequences[static_cast<size_t>((*sequence)->kind)];
  }
  if (const auto* generator = value.get<GeneratorPtr>()) return (*generator)->type;
  if (const auto* callable = value.get<CallablePtr>()) {
    return (*callable)->macro != nullptr ? "Macro" : "builtin_function_or_method";
  }
  constexpr std::string_view kNames[] = {
      "Undefined", "Undefined", "NoneType",  "bool", "int", "float",      "str",
      "",          "dict",      "Namespace", "",     "",    "LoopContext"};
  return kNames[value.storage().index()];
}

bool truthy(const Value& value) {
  if (value.is<Missing>() || value.is<Undefined>() || value.is<None>()) return false;
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* integer = value.get<int64_t>()) return *integer != 0;
  if (const auto* real = value.get<double>()) return *real != 0.0;
  const auto size = length(value);
  return !size || *size != 0;
}

bool is_number(const Value& value) {
  return value.is<bool>() || value.is<int64_t>() || value.is<double>();
}

std::optional<int64_t> as_int(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
  if (const auto* integer = value.get<int64_t>()) return *integer;
  return std::nullopt;
}

std::optional<double> as_double(const Value& value) {
  if (const auto* real = value.get<double>()) return *real;
  const auto integer = as_int(value);
  if (!integer) return std::nullopt;
  return static_cast<double>(*integer);
}

bool identical(const Value& a, const Value& b) {
  if (a.storage().index() != b.storage().index()) return false;
  if (const auto* text = a.text()) return text == b.text() || text->bytes == b.text()->bytes;
  if (const void* place = address(a)) return place == address(b);
  if (const auto* real = a.get<double>()) return *real == *b.get<double>();
  return !is_number(a) || as_int(a) == as_int(b);
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (is_number(a) && is_number(b)) {
    const auto order = compare_numbers(a, b);
    return order && *order == 0;
  }
  if (a.storage().index() != b.storage().index()) return false;
  if (const auto* text = a.text()) {
    if (text->bytes.size() != b.text()->bytes.size()) return false;
    budget.scan(text->bytes.size());
    return text->bytes == b.text()->bytes;
  }
  if (const auto* sequence = a.get<SequencePtr>()) {
    const Sequence& left = **sequence;
    const Sequence& right = **b.get<SequencePtr>();
    if (&left == &right) return true;
    if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
    for (size_t i = 0; i < left.items.size(); ++i) {
      if (!same_object(left.items[i], right.items[i]) &&
          !equal(budget, left.items[i], right.items[i])) {
        return false;
      }
    }
    return true;
  }
  if (const auto* dict = a.get<DictPtr>()) {
    const Dict& left = **dict;
    const Dict& right = **b.get<DictPtr>();
    if (&left == &right) return true;
    if (left.entries().size() != right.entries().size()) return false;
    for (const auto& [key, value] : left.entries()) {
      const Value* other = right.find(budget, key);
      if (other == nullptr || (!same_object(value, *other) && !equal(budget, value, *other)))
        return false;
    }
    return true;
  }
  return address(a) == address(b);  // None and undefined have none, and equal their like
}

std::optional<int> compare(Budget& budget, const Value& a, const Value& b, std::string_view op) {
  budget.step();
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  if (a.is<Undefined>()) throw bad_input("{}", *a.get<Undefined>()->message);
  if (b.is<Undefined>()) throw bad_input("{}", *b.get<Undefined>()->message);
  if (a.text() != nullptr && b.text() != nullptr) {
    budget.scan(std::min(a.text()->bytes.size(), b.text()->bytes.size()));
    return sign(a.text()->bytes.compare(b.text()->bytes), 0);
  }
  const auto* left = a.get<SequencePtr>();
  const auto* right = b.get<SequencePtr>();
  if (left != nullptr && right != nullptr && (*left)->kind == (*right)->kind &&
      (*left)->kind <= SequenceKind::kTuple) {
    const auto& x = (*left)->items;
    const auto& y = (*right)->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!same_object(x[i], y[i]) && !equal(budget, x[i], y[i]))
        return compare(budget, x[i], y[i], op);
    }
    return sign(x.size(), y.size());
  }
  throw bad_input("'{}' not supported between instances of '{}' and '{}'", op, type_name(a),
                  type_name(b));
}

int compare_keys(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  const int rank = key_rank(a);
  if (rank != key_rank(b)) return sign(rank, key_rank(b));
  if (rank == 0) {
    if (const auto order = compare_numbers(a, b)) return *order;
    const auto nan = [](const Value& v) { return v.is<double>() && std::isnan(*v.get<double>()); };
    return sign(nan(a), nan(b));  // any total order will do
  }
  if (rank == 1) {
    budget.scan(std::min(a.text()->bytes.size(), b.text()->bytes.size()));
    return sign(a.text()->bytes.compare(b.text()->bytes), 0);
  }
  if (rank == 4) {
    const auto& x = (*a.get<SequencePtr>())->items;
    const auto& y = (*b.get<SequencePtr>())->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (const int order = compare_keys(budget, x[i], y[i]); order != 0) return order;
    }
    return sign(x.size(), y.size());
  }
  return sign(address(a), address(b));
}

void require_hashable(Budget& budget, const Value& value) {
  budget.step();
  const auto* sequence = value.get<SequencePtr>();
  if (sequence != nullptr && (*sequence)->kind == SequenceKind::kTuple) {
    for (const Value& item : (*sequence)->items) require_hashable(budget, item);
    return;
  }
  if (value.is<DictPtr>() || (sequence != nullptr && (*sequence)->kind != SequenceKind::kRange)) {
    throw bad_input("unhashable type: '{}'", type_name(value));
  }
}

std::optional<size_t> length(const Value& value) {
  if (value.is<Undefined>()) return 0;
  if (const Text* text = value.text()) return count_code_points(text->bytes);
  if (const auto* sequence = value.get<SequencePtr>()) return (*sequence)->items.size();
  if (const auto* dict = value.get<DictPtr>()) return (*dict)->entries().size();
  return std::nullopt;
}

std::optional<std::vector<Value>> elements(Budget& budget, const Value& value) {
  std::vector<Value> items;
  if (value.is<Undefined>()) return items;
  if (const auto* sequence = value.get<SequencePtr>()) {
    budget.allocate((*sequence)->items.size(), sizeof(Value));
    return (*sequence)->items;
  }
  if (const auto* dict = value.get<DictPtr>()) {
    budget.allocate((*dict)->entries().size(), sizeof(Value));
    for (const auto& [key, held] : (*dict)->entries()) items.push_back(key);
    return items;
  }
  if (const Text* text = value.text()) {
    budget.allocate(text->bytes.size(), sizeof(Value) + sizeof(Text));
    for (size_t at = 0; at < text->bytes.size();) {
      const size_t end = next_code_point(text->bytes, at);
      TextBuilder character(budget);  // of Markup too, characters are plain
      character.append(*text, at, end);
      items.emplace_back(character.finish());
      at = end;
    }
    return items;
  }
  if (const auto* generator = value.get<GeneratorPtr>()) {
    Generator& source = **generator;
    budget.allocate(source.items.size() - source.next, sizeof(Value));
    while (auto item = source.draw()) items.push_back(std::move(*item));
    return items;
  }
  return std::nullopt;
}

std::vector<Value> iterate(Budget& budget, const Value& value) {
  auto items = elements(budget, value);
  if (!items) throw bad_input("'{}' object is not iterable", type_name(value));
  return std::move(*items);
}

}  // namespace mlxcel::text
