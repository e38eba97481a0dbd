#include "text/jinja_eval.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"

namespace mlxcel::text {

using base::bad_input;

Value Evaluator::eval(const Expr& expr, const ScopePtr& scope) {
  const Budget::Level level(budget_);
  budget_.step();
  line_ = expr.line;
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.constant;
    case ExprKind::kName:
      return eval_name(expr, scope);
    case ExprKind::kList:
    case ExprKind::kTuple:
      return eval_items(expr, scope);
    case ExprKind::kDict:
      return eval_dict(expr, scope);
    case ExprKind::kUnary:
    case ExprKind::kBinary:
      return eval_operator(expr, scope);
    case ExprKind::kCompare:
      return eval_compare(expr, scope);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      Value left = eval(*expr.children[0], scope);
      if (truthy(left) == (expr.kind == ExprKind::kOr)) return left;
      return eval(*expr.children[1], scope);
    }
    case ExprKind::kNot:
      return !truthy(eval(*expr.children[0], scope));
    case ExprKind::kConcat:
      return eval_concat(expr, scope);
    case ExprKind::kConditional:
      return eval_conditional(expr, scope);
    case ExprKind::kAttribute:
    case ExprKind::kItem:
    case ExprKind::kSlice:
      return eval_access(expr, scope);
    case ExprKind::kCall:
      return eval_call(expr, scope);
    case ExprKind::kFilter:
    case ExprKind::kTest:
      return eval_function(expr, scope);
    case ExprKind::kNamespaceTarget:
      break;  // only ever a target
  }
  throw base::internal_error("an expression of unknown kind");
}

Value Evaluator::eval_name(const Expr& expr, const ScopePtr& scope) {
  const Value& value = variable(*scope, expr.ref);
  if (!value.is<Missing>()) return value;
  return make_undefined(fmt::format("'{}' is undefined", expr.name->bytes.substr(0, 60)));
}

Value Evaluator::eval_items(const Expr& expr, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(expr.children.size());
  for (const ExprPtr& child : expr.children) items.push_back(eval(*child, scope));
  return make_sequence(budget_,
                       expr.kind == ExprKind::kList ? SequenceKind::kList : SequenceKind::kTuple,
                       std::move(items));
}

Value Evaluator::eval_dict(const Expr& expr, const ScopePtr& scope) {
  std::vector<Dict::Entry> entries;
  entries.reserve(expr.children.size() / 2);
  for (size_t i = 0; i + 1 < expr.children.size(); i += 2) {
    Value key = eval(*expr.children[i], scope);
    entries.emplace_back(std::move(key), eval(*expr.children[i + 1], scope));
  }
  return Dict::build(budget_, std::move(entries));
}

Value Evaluator::eval_operator(const Expr& expr, const ScopePtr& scope) {
  const Value left = eval(*expr.children[0], scope);
  if (expr.kind == ExprKind::kUnary) {
    line_ = expr.line;
    return unary(left, expr.op);
  }
  const Value right = eval(*expr.children[1], scope);
  line_ = expr.line;
  return binary(budget_, expr.op, left, right);
}

Value Evaluator::eval_compare(const Expr& expr, const ScopePtr& scope) {
  Value left = eval(*expr.children[0], scope);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = eval(*expr.children[i + 1], scope);
    line_ = expr.line;
    if (!compare_values(budget_, expr.ops[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::eval_concat(const Expr& expr, const ScopePtr& scope) {
  TextBuilder out(budget_);
  for (const ExprPtr& child : expr.children) append_str(budget_, out, eval(*child, scope));
  return out.finish();
}

Value Evaluator::eval_conditional(const Expr& expr, const ScopePtr& scope) {
  if (truthy(eval(*expr.children[0], scope))) return eval(*expr.children[1], scope);
  if (expr.children[2] != nullptr) return eval(*expr.children[2], scope);
  return make_undefined(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined.",
      expr.line));
}

Value Evaluator::eval_access(const Expr& expr, const ScopePtr& scope) {
  const Value object = eval(*expr.children[0], scope);
  if (expr.kind == ExprKind::kAttribute) {
    line_ = expr.line;
    return get_attribute(runtime_, object, expr.name);
  }
  Value parts[3];
  for (size_t i = 1; i < expr.children.size(); ++i) {
    if (expr.children[i] != nullptr) parts[i - 1] = eval(*expr.children[i], scope);
  }
  line_ = expr.line;
  if (expr.kind == ExprKind::kItem) return get_item(runtime_, object, parts[0]);
  return get_slice(budget_, object, parts[0], parts[1], parts[2]);
}

void Evaluator::eval_arguments(const Expr& expr, const ScopePtr& scope, CallArguments& arguments) {
  for (size_t i = 1; i < expr.children.size(); ++i)
    arguments.positional.push_back(eval(*expr.children[i], scope));
  if (expr.star_arguments != nullptr) {
    for (Value& item : iterate(budget_, eval(*expr.star_arguments, scope)))
      arguments.positional.push_back(std::move(item));
  }
  for (const Keyword& keyword : expr.keywords)
    arguments.named.emplace_back(keyword.name, eval(*keyword.value, scope));
  if (expr.star_keywords != nullptr) {
    const Value given = eval(*expr.star_keywords, scope);
    const auto* dict = given.get<DictPtr>();
    if (dict == nullptr)
      throw bad_input("argument after ** must be a mapping, not {}", type_name(given));
    budget_.allocate((*dict)->entries().size(), sizeof(Dict::Entry));
    for (const auto& [key, value] : (*dict)->entries()) {
      const auto* name = key.get<TextPtr>();
      if (name == nullptr) throw bad_input("keywords must be strings");
      for (const Keyword& keyword : expr.keywords) {
        if (keyword.name->bytes == (*name)->bytes)
          throw bad_input("got multiple values for keyword argument '{}'", keyword.name->bytes);
      }
      arguments.named.emplace_back(*name, value);
    }
  }
  line_ = expr.line;
}

Value Evaluator::eval_call(const Expr& expr, const ScopePtr& scope) {
  const Value callee = eval(*expr.children[0], scope);
  CallArguments arguments;
  if (const auto* callable = callee.get<CallablePtr>();
      callable != nullptr && !(*callable)->self.is<Missing>()) {
    arguments.positional.push_back((*callable)->self);
  }
  eval_arguments(expr, scope, arguments);
  return call(callee, std::move(arguments));
}

Value Evaluator::call(const Value& callee, CallArguments arguments) {
  const auto* callable = callee.get<CallablePtr>();
  if (callable == nullptr) {
    if (callee.is<Undefined>()) throw_undefined(callee);
    if (callee.is<LoopPtr>()) throw base::unsupported("a recursive loop");
    throw bad_input("'{}' object is not callable", type_name(callee));
  }
  if ((*callable)->macro != nullptr) return call_macro(**callable, std::move(arguments));
  return call_function(runtime_, *(*callable)->function, std::move(arguments));
}

Value Evaluator::eval_function(const Expr& expr, const ScopePtr& scope) {
  CallArguments arguments;
  if (expr.children[0] != nullptr) {
    arguments.positional.push_back(eval(*expr.children[0], scope));
  } else {
    arguments.positional.push_back(captured_);
  }
  eval_arguments(expr, scope, arguments);
  if (expr.function == nullptr) {
    throw base::unsupported("no {} named '{}'", expr.kind == ExprKind::kFilter ? "filter" : "test",
                            expr.name->bytes);
  }
  return call_function(runtime_, *expr.function, std::move(arguments));
}

Value Evaluator::call_macro(const Callable& callable, CallArguments arguments) {
  const MacroDefinition& macro = *callable.macro;
  const Entered scope(*this, macro.scope, callable.scope);
  auto& positional = arguments.positional;
  auto& named = arguments.named;
  const auto take_named = [&named](const std::string& name) -> Value {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](const auto& entry) { return entry.first->bytes == name; });
    if (found == named.end()) return {};
    Value value = std::move(found->second);
    named.erase(found);
    return value;
  };
  const size_t count = macro.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    Value& slot = scope->slots[macro.parameter_slots[i]];
    slot =
        i < positional.size() ? std::move(positional[i]) : take_named(macro.parameters[i]->bytes);
  }
  if (macro.caller_slot >= 0) {
    Value caller = take_named("caller");
    if (caller.is<Missing>()) caller = make_undefined("No caller defined");
    scope->slots[static_cast<size_t>(macro.caller_slot)] = std::move(caller);
  }
  if (macro.kwargs_slot >= 0) {
    std::vector<Dict::Entry> entries;
    for (auto& [name, value] : named) entries.emplace_back(Value(name), std::move(value));
    scope->slots[static_cast<size_t>(macro.kwargs_slot)] = Dict::build(budget_, std::move(entries));
  } else if (!named.empty()) {
    throw bad_input("macro '{}' takes no keyword argument '{}'", macro.name->bytes,
                    named.front().first->bytes.substr(0, 60));
  }
  if (macro.varargs_slot >= 0) {
    std::vector<Value> rest;
    for (size_t i = count; i < positional.size(); ++i) rest.push_back(std::move(positional[i]));
    scope->slots[static_cast<size_t>(macro.varargs_slot)] = make_tuple(budget_, std::move(rest));
  } else if (positional.size() > count) {
    throw bad_input("macro '{}' takes not more than {} argument(s)", macro.name->bytes, count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!scope->slots[macro.parameter_slots[i]].is<Missing>()) continue;
    const ExprPtr& value = macro.defaults[i];
    scope->slots[macro.parameter_slots[i]] =
        value != nullptr ? eval(*value, *scope)
                         : make_undefined(fmt::format("parameter '{}' was not provided",
                                                      macro.parameters[i]->bytes));
  }
  TextBuilder out(budget_);
  run_block(macro.body, *scope, out);
  return out.finish();
}

}  // namespace mlxcel::text
