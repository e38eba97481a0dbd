// map, select, reject and their relatives.
#include "text/jinja_select.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_strings.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::unsupported;

// The rest of the call's arguments from `first` on, behind a place for the item.
CallArguments rest_of(const CallArguments& given, size_t first) {
  CallArguments rest;
  rest.positional.emplace_back();
  if (first < given.positional.size()) {
    rest.positional.insert(rest.positional.end(),
                           given.positional.begin() + static_cast<ptrdiff_t>(first),
                           given.positional.end());
  }
  rest.named = given.named;
  return rest;
}

Value apply(Runtime& rt, const Function& function, const CallArguments& rest, Value item) {
  rt.budget.allocate(rest.positional.size() + rest.named.size(), sizeof(Value));
  CallArguments given = rest;
  given.positional[0] = std::move(item);
  return call_function(rt, function, std::move(given));
}

const Value& value_of(const CallArguments& given) { return given.positional.at(0); }

void map_attribute(Runtime& rt, const CallArguments& given, std::vector<Value>& mapped) {
  Value attribute;
  Value fallback;
  for (const auto& [name, value] : given.named) {
    if (name->bytes == "attribute") {
      attribute = value;
    } else if (name->bytes == "default") {
      fallback = value;
    } else {
      throw bad_input("map() got an unexpected keyword argument '{}'", name->bytes.substr(0, 60));
    }
  }
  if (attribute.is<Missing>()) throw bad_input("map requires a filter argument");
  if (fallback.is<None>()) fallback = Value();
  const AttributePath path(rt.budget, attribute);
  for (Value& item : iterate(rt.budget, value_of(given))) {
    mapped.push_back(path.get(rt, std::move(item), fallback));
  }
}

Value filter_map(Runtime& rt, Arguments& a) {
  const CallArguments& given = a.raw();
  return lazily(rt, [&](std::vector<Value>& mapped) {
    if (!truthy(value_of(given))) return;
    if (given.positional.size() == 1) return map_attribute(rt, given, mapped);
    const Text* name = given.positional[1].text();
    const Function* function = name == nullptr ? nullptr : find_filter(name->bytes);
    if (function == nullptr) {
      throw unsupported("map: no filter named '{}'",
                        name == nullptr ? "?" : name->bytes.substr(0, 60));
    }
    const CallArguments rest = rest_of(given, 2);
    const Budget::Level level(rt.budget);  // map may map with map
    for (Value& item : iterate(rt.budget, value_of(given))) {
      mapped.push_back(apply(rt, *function, rest, std::move(item)));
    }
  });
}

enum class Keep : uint8_t { kPassing, kFailing };
enum class Subject : uint8_t { kItem, kAttribute };

Value select(Runtime& rt, Arguments& a, Keep keep, Subject subject) {
  const CallArguments& given = a.raw();
  return lazily(rt, [&](std::vector<Value>& kept) {
    if (!truthy(value_of(given))) return;
    const size_t offset = subject == Subject::kAttribute ? 2 : 1;
    if (given.positional.size() < offset) {
      throw bad_input("{}: missing parameter for attribute name", a.function());
    }
    const AttributePath path(rt.budget,
                             subject == Subject::kAttribute ? given.positional[1] : Value(None{}));
    const Function* test = nullptr;
    if (given.positional.size() > offset) {
      const Text* name = given.positional[offset].text();
      test = name == nullptr ? nullptr : find_test(name->bytes);
      if (test == nullptr) {
        throw unsupported("{}: no test named '{}'", a.function(),
                          name == nullptr ? "?" : name->bytes.substr(0, 60));
      }
    }
    const CallArguments rest = rest_of(given, offset + 1);
    for (Value& item : iterate(rt.budget, value_of(given))) {
      Value asked = path.get(rt, item);
      const bool passes =
          truthy(test == nullptr ? asked : apply(rt, *test, rest, std::move(asked)));
      if (passes == (keep == Keep::kPassing)) kept.push_back(std::move(item));
    }
  });
}

constexpr Function kFilters[] = {
    {"map", "*", filter_map},
    {"select", "*",
     [](Runtime& rt, Arguments& a) { return select(rt, a, Keep::kPassing, Subject::kItem); }},
    {"reject", "*",
     [](Runtime& rt, Arguments& a) { return select(rt, a, Keep::kFailing, Subject::kItem); }},
    {"selectattr", "*",
     [](Runtime& rt, Arguments& a) { return select(rt, a, Keep::kPassing, Subject::kAttribute); }},
    {"rejectattr", "*",
     [](Runtime& rt, Arguments& a) { return select(rt, a, Keep::kFailing, Subject::kAttribute); }},
};

}  // namespace

AttributePath::AttributePath(Budget& budget, const Value& attribute) {
  if (attribute.is<None>()) return;
  const Text* name = attribute.text();
  if (name == nullptr) {
    steps_.push_back(attribute);
    return;
  }
  const Text dot = *make_text(".");
  for (Value& part : split(budget, *name, &dot, -1, Side::kLeft)) {
    const std::string& bytes = part.text()->bytes;
    const bool number = !bytes.empty() && std::all_of(bytes.begin(), bytes.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
    if (number)
      steps_.emplace_back(*parse_int(bytes, 10));
    else
      steps_.push_back(std::move(part));
  }
}

Value AttributePath::get(Runtime& runtime, Value item, const Value& fallback) const {
  for (const Value& step : steps_) {
    runtime.budget.step();
    item = get_item(runtime, item, step);
    if (!fallback.is<Missing>() && item.is<Undefined>()) item = fallback;
  }
  return item;
}

Rows<Function> selection_filters() { return {kFilters, std::size(kFilters)}; }

}  // namespace mlxcel::text
