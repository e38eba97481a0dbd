// "address.city" as filters like map, sort and join accept it.
#pragma once

#include <vector>

#include "text/jinja_call.h"

namespace mlxcel::text {

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
