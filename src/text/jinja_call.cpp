#include "text/jinja_call.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_ast.h"

namespace mlxcel::text {
namespace {

using base::bad_input;

struct Parameter {
  std::string_view name;
  bool optional = false;
};

std::vector<Parameter> parameters_of(std::string_view spec) {
  std::vector<Parameter> result;
  while (!spec.empty()) {
    const size_t end = std::min(spec.find(' '), spec.size());
    std::string_view name = spec.substr(0, end);
    const bool optional = name.back() == '?';
    if (optional) name.remove_suffix(1);
    result.push_back({name, optional});
    spec.remove_prefix(std::min(end + 1, spec.size()));
  }
  return result;
}

const Function* find_in(Rows<Function> rows, std::string_view name) {
  const auto* found =
      std::find_if(rows.begin(), rows.end(), [&](const Function& f) { return f.name == name; });
  return found == rows.end() ? nullptr : found;
}

}  // namespace

Runtime::~Runtime() {
  for (const NamespacePtr& names : namespaces) names->entries.clear();
}

const Text& Arguments::text(size_t index) const { return *text_ptr(index); }

const TextPtr& Arguments::text_ptr(size_t index) const {
  if (!has(index)) throw bad_input("{}: an argument is missing", function_);
  const auto* text = given_.positional[index].get<TextPtr>();
  if (text == nullptr) {
    if (const auto* undefined = given_.positional[index].get<Undefined>()) {
      throw bad_input("{}", *undefined->message);
    }
    throw bad_input("{}: expected a string, found '{}'", function_,
                    type_name(given_.positional[index]));
  }
  return *text;
}

int64_t Arguments::integer(size_t index) const {
  if (!has(index)) throw bad_input("{}: an argument is missing", function_);
  const auto number = as_int(given_.positional[index]);
  if (!number) {
    throw bad_input("{}: expected an integer, found '{}'", function_,
                    type_name(given_.positional[index]));
  }
  return *number;
}

Value call_function(Runtime& runtime, const Function& function, CallArguments given) {
  runtime.budget.step();
  if (function.parameters != "*") {
    const auto parameters = parameters_of(function.parameters);
    if (given.positional.size() > parameters.size()) {
      throw bad_input("{}() takes at most {} arguments, found {}", function.name, parameters.size(),
                      given.positional.size());
    }
    given.positional.resize(parameters.size());
    for (auto& entry : given.named) {
      const std::string& name = entry.first->bytes;
      const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                          [&](const Parameter& p) { return p.name == name; });
      if (parameter == parameters.end()) {
        throw bad_input("{}() got an unexpected keyword argument '{}'", function.name,
                        name.substr(0, 60));
      }
      Value& place = given.positional[static_cast<size_t>(parameter - parameters.begin())];
      if (!place.is<Missing>()) {
        throw bad_input("{}() got two values for '{}'", function.name, parameter->name);
      }
      place = std::move(entry.second);
    }
    given.named.clear();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (given.positional[i].is<Missing>() && !parameters[i].optional) {
        throw bad_input("{}() is missing the argument '{}'", function.name, parameters[i].name);
      }
    }
  }
  Arguments arguments(function.name, std::move(given));
  return function.run(runtime, arguments);
}

const Function* find_filter(std::string_view name) {
  for (const auto rows : {text_filters(), sequence_filters(), selection_filters()}) {
    if (const Function* found = find_in(rows, name)) return found;
  }
  return nullptr;
}

const Function* find_method(const Value& object, std::string_view name) {
  if (object.text() != nullptr) return find_in(text_methods(), name);
  std::string qualified;
  if (object.is<LoopPtr>())
    qualified = "loop.";
  else if (object.is<DictPtr>() || object.is<SequencePtr>())
    qualified = std::string(type_name(object)) + ".";
  else
    return nullptr;
  if (name.size() > 32) return nullptr;
  return find_in(container_methods(), qualified.append(name));
}

std::string_view callable_name(const Callable& callable) {
  return callable.macro != nullptr ? std::string_view(callable.macro->name->bytes)
                                   : callable.function->name;
}

}  // namespace mlxcel::text
