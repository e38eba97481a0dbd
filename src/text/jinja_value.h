// The values of a template: Python's None, bool, int (64 bits), float, str, list, tuple, range,
// dict and its views, generators, plus what Jinja adds (undefined, namespace, macro, loop).
// Everything but namespaces, generators and loops is immutable, as the sandbox of the reference
// demands, so values are shared freely and cycles can only pass through objects that the Runtime
// keeps track of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_text.h"

namespace mlxcel::text {

class Value;
struct Sequence;
class Dict;
struct Namespace;
struct Generator;
struct Callable;
struct LoopState;

struct Missing {  // a variable that was never assigned, an argument that was not given
  friend bool operator==(const Missing&, const Missing&) = default;
};
struct None {
  friend bool operator==(const None&, const None&) = default;
};
struct Undefined {
  std::shared_ptr<const std::string> message;  // why, for the error when it is used
};

using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;
using NamespacePtr = std::shared_ptr<Namespace>;
using GeneratorPtr = std::shared_ptr<Generator>;
using CallablePtr = std::shared_ptr<const Callable>;
using LoopPtr = std::shared_ptr<LoopState>;

class Value {
 public:
  using Storage =
      std::variant<Missing, Undefined, None, bool, int64_t, double, TextPtr, SequencePtr, DictPtr,
                   NamespacePtr, GeneratorPtr, CallablePtr, LoopPtr>;

  Value() = default;
  template <typename T>
  requires(!std::is_same_v<std::decay_t<T>, Value> && std::is_constructible_v<Storage, T>)
      Value(T&& held)
      : storage_(std::forward<T>(held)) {}  // NOLINT: a value is what it holds

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(storage_);
  }
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&storage_);
  }
  const Text* text() const {
    const auto* text = get<TextPtr>();
    return text == nullptr ? nullptr : text->get();
  }
  const Storage& storage() const { return storage_; }

 private:
  Storage storage_;
};

enum class SequenceKind : uint8_t { kList, kTuple, kRange, kDictKeys, kDictValues, kDictItems };

struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  std::array<int64_t, 3> range = {0, 0, 1};  // start, stop, step, when it is a range
  int depth = 1;                             // levels of containers, itself included
};

// An insertion-ordered dict. Immutable once built; the order of keys is kept beside a sorted index.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  // Later values of equal keys win, at the place of the first, as in Python. Throws for keys that
  // cannot be hashed.
  static DictPtr build(Budget& budget, std::vector<Entry> entries);

  const std::vector<Entry>& entries() const { return entries_; }
  const Value* find(Budget& budget, const Value& key) const;  // nullptr when absent
  const Value* find(Budget& budget, std::string_view key) const;
  int depth() const { return depth_; }

 private:
  std::vector<Entry> entries_;
  std::vector<uint32_t> sorted_;
  int depth_ = 1;
};

struct Namespace {
  std::vector<std::pair<TextPtr, Value>> entries;
  std::map<std::string, size_t, std::less<>> index;

  const Value* find(std::string_view name) const;
  void set(const TextPtr& name, Value value);
};

// What Python makes a generator or another one-shot iterator. The elements are there already; only
// their consumption is observable, and that a fault shows when its element is due.
struct Generator {
  std::optional<Value> draw();  // the next one; throws `failure` where it lies

  std::vector<Value> items;
  size_t next = 0;
  std::string_view type = "generator";
  int depth = 1;
  std::optional<base::Error> failure;  // after the last of `items`
};

struct MacroDefinition;  // jinja_ast.h
struct Scope;            // jinja_eval.h
struct Function;         // jinja_call.h

struct Callable {
  const Function* function = nullptr;  // a global function, or a method of `self`
  Value self;
  const MacroDefinition* macro = nullptr;  // or a macro and the scope that it was defined in
  std::shared_ptr<Scope> scope;
};

// Construction, with the depth of nesting checked against the budget.
Value make_undefined(std::string message);
Value make_sequence(Budget& budget, SequenceKind kind, std::vector<Value> items);
Value make_list(Budget& budget, std::vector<Value> items);
Value make_tuple(Budget& budget, std::vector<Value> items);
Value make_range(Budget& budget, int64_t start, int64_t stop,
                 int64_t step);  // throws above 100,000
Value make_generator(Budget& budget, std::vector<Value> items, std::string_view type = "generator");
int depth_of(const Value& value);

// Python's view of values.
std::string_view type_name(const Value& value);
bool truthy(const Value& value);
bool is_number(const Value& value);                   // bool, int or float
std::optional<int64_t> as_int(const Value& value);    // of an int or a bool
std::optional<double> as_double(const Value& value);  // of any number
bool equal(Budget& budget, const Value& a, const Value& b);
bool identical(const Value& a, const Value& b);  // `is`, except that equal scalars are identical
// Less than 0, 0 or more than 0; throws (TypeError) for types without an order. NaN gives nothing.
std::optional<int> compare(Budget& budget, const Value& a, const Value& b, std::string_view op);
// A total order over hashable keys in which equal keys are equivalent; throws for the others.
int compare_keys(Budget& budget, const Value& a, const Value& b);
void require_hashable(Budget& budget, const Value& value);
std::optional<size_t> length(const Value& value);  // len(); nothing when the type has none
// Elements of any iterable, a generator's being consumed; nothing when it is not iterable.
std::optional<std::vector<Value>> elements(Budget& budget, const Value& value);
// The same; throws "'int' object is not iterable".
std::vector<Value> iterate(Budget& budget, const Value& value);

}  // namespace mlxcel::text
