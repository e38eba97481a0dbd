// Operators, attributes, items and slices with Python's meaning, in the sandbox's bounds: methods
// that would change a list or a dict, and attributes that begin with an underscore, are undefined.
#pragma once

#include "text/jinja_ast.h"
#include "text/jinja_call.h"

namespace mlxcel::text {

Value unary(const Value& value, Op op);
Value binary(Budget& budget, Op op, const Value& a, const Value& b);
bool compare_values(Budget& budget, Op op, const Value& a, const Value& b);  // == < in ...
bool contains(Budget& budget, const Value& container, const Value& item);

// object.name: the attribute, else the item of that name, else undefined. Throws when the object
// itself is undefined.
Value get_attribute(Runtime& runtime, const Value& object, const TextPtr& name);
// Only attributes, as the filter `attr`.
std::optional<Value> find_attribute(Runtime& runtime, const Value& object, const TextPtr& name);
// object[key]: the item, else (for a string) the attribute, else undefined.
Value get_item(Runtime& runtime, const Value& object, const Value& key);
// object[start:stop:step], None or Missing for omitted parts.
Value get_slice(Budget& budget, const Value& object, const Value& start, const Value& stop,
                const Value& step);

[[noreturn]] void throw_undefined(const Value& value);

}  // namespace mlxcel::text
