// What filters of sequences share: generators whose faults wait, and "address.city" as map, sort
// and join accept it.
#pragma once

#include <vector>

#include "text/jinja_call.h"

namespace mlxcel::text {

// A generator of what `fill` adds to a list. A fault of the template in it is kept for when the
// consumer gets there; a limit is not.
template <typename Fill>
Value lazily(Runtime& runtime, const Fill& fill) {
  std::vector<Value> items;
  std::optional<base::Error> failure;
  try {
    fill(items);
  } catch (const base::Error& error) {
    if (error.kind() == base::ErrorKind::kResource || error.kind() == base::ErrorKind::kInternal)
      throw;
    failure = error;
  }
  Value made = make_generator(runtime.budget, std::move(items));
  (*made.get<GeneratorPtr>())->failure = std::move(failure);
  return made;
}

class AttributePath {
 public:
  // A name with dots (whole numbers in it are indices), a number, or None for the value itself.
  AttributePath(Budget& budget, const Value& attribute);

  // Value that the path leads to; an undefined step becomes `fallback` when that is given.
  Value get(Runtime& runtime, Value item, const Value& fallback = Value()) const;

 private:
  std::vector<Value> steps_;
};

}  // namespace mlxcel::text
