// Everything a template can call that is not a macro: filters, tests, methods of values and global
// functions. All have the shape of `Function` and stand in tables, so that adding one is one row.
#pragma once

#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_value.h"

namespace mlxcel::text {

// What one rendering shares. Namespaces are registered, since only they can close a cycle of
// values: the end of the rendering empties them.
struct Runtime {
  explicit Runtime(const JinjaLimits& limits) : budget(limits) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Budget budget;
  std::function<std::tm()> clock;  // local time, for strftime_now
  std::vector<NamespacePtr> namespaces;
};

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<TextPtr, Value>> named;
};

// Arguments in the order of a function's parameters, Missing where one was not given.
class Arguments {
 public:
  Arguments(std::string_view function, CallArguments given)
      : function_(function), given_(std::move(given)) {}

  std::string_view function() const { return function_; }
  size_t size() const { return given_.positional.size(); }
  const Value& operator[](size_t index) const { return given_.positional[index]; }
  bool has(size_t index) const { return index < size() && !given_.positional[index].is<Missing>(); }

  // Typed arguments; each throws a TypeError-like message.
  const Text& text(size_t index) const;
  const TextPtr& text_ptr(size_t index) const;
  int64_t integer(size_t index) const;
  int64_t integer_or(size_t index, int64_t fallback) const {
    return has(index) ? integer(index) : fallback;
  }
  bool flag_or(size_t index, bool fallback) const {
    return has(index) ? truthy(given_.positional[index]) : fallback;
  }

  // Of functions that bind their own: every positional and named argument.
  CallArguments& raw() { return given_; }

 private:
  std::string_view function_;
  CallArguments given_;
};

struct Function {
  std::string_view name;
  std::string_view
      parameters;  // names between spaces, optional ones end in '?'; "*": binds its own
  Value (*run)(Runtime&, Arguments&);
};

// Binds as Python does, then runs. The value that is filtered or tested, or the object of a method,
// is the first positional argument.
Value call_function(Runtime& runtime, const Function& function, CallArguments given);

// nullptr when there is none of that name.
const Function* find_filter(std::string_view name);
const Function* find_test(std::string_view name);
const Function* find_global(std::string_view name);
const Function* find_method(const Value& object, std::string_view name);

std::string_view callable_name(const Callable& callable);

// The rows of the tables, one for each source file.
template <typename T>
struct Rows {
  const T* first = nullptr;
  size_t count = 0;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
};
Rows<Function> text_filters();
Rows<Function> sequence_filters();
Rows<Function> selection_filters();
Rows<Function> text_methods();
Rows<Function> container_methods();  // named "list.index", "dict.get", "loop.cycle"

}  // namespace mlxcel::text
