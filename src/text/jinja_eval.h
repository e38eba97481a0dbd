// Renders a parsed template: a walk over the tree, drawing every step from the budget.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "text/jinja_ast.h"
#include "text/jinja_call.h"
#include "text/jinja_text.h"

namespace mlxcel::text {

// The variables of one block, macro call or loop. What it holds is let go when it is left, so that
// a macro kept in its own scope is no cycle.
struct Scope {
  Scope(size_t size, std::shared_ptr<Scope> around) : slots(size), outer(std::move(around)) {}
  std::vector<Value> slots;
  std::shared_ptr<Scope> outer;
};
using ScopePtr = std::shared_ptr<Scope>;

using Variables = std::unordered_map<std::string, Value>;

class Evaluator {
 public:
  Evaluator(const Template& parsed, Runtime& runtime, const Variables& variables)
      : template_(parsed), runtime_(runtime), budget_(runtime.budget), variables_(variables) {}

  // Throws base::Error whose message begins with the template's name and the line.
  Text render();

 private:
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };
  class Entered;  // a scope, emptied when it is left

  // Statements: jinja_exec.cpp.
  Flow run_block(const Block& block, const ScopePtr& scope, TextBuilder& out);
  Flow run(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  Flow run_if(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  Flow run_for(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  Flow run_captured(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  Flow run_with(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  void run_output(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out);
  void run_set(const Stmt& stmt, const ScopePtr& scope);
  void enter(const ScopeInfo& info, Scope& scope);
  void assign(const Expr& target, Value value, Scope& scope);
  void check_namespaces(const Expr& target, Scope& scope);
  Value resolve(const std::string& name) const;

  // Expressions: jinja_eval.cpp.
  Value eval(const Expr& expr, const ScopePtr& scope);
  Value eval_name(const Expr& expr, const ScopePtr& scope);
  Value eval_items(const Expr& expr, const ScopePtr& scope);
  Value eval_dict(const Expr& expr, const ScopePtr& scope);
  Value eval_operator(const Expr& expr, const ScopePtr& scope);
  Value eval_compare(const Expr& expr, const ScopePtr& scope);
  Value eval_concat(const Expr& expr, const ScopePtr& scope);
  Value eval_conditional(const Expr& expr, const ScopePtr& scope);
  Value eval_access(const Expr& expr, const ScopePtr& scope);
  Value eval_call(const Expr& expr, const ScopePtr& scope);
  Value eval_function(const Expr& expr, const ScopePtr& scope);
  void eval_arguments(const Expr& expr, const ScopePtr& scope, CallArguments& arguments);
  Value call(const Value& callee, CallArguments arguments);
  Value call_macro(const Callable& callable, CallArguments arguments);

  const Template& template_;
  Runtime& runtime_;
  Budget& budget_;
  const Variables& variables_;
  Value captured_;  // what a filter block or set block hands to its filter
  int line_ = 1;
};

class Evaluator::Entered {
 public:
  Entered(Evaluator& evaluator, const ScopeInfo& info, ScopePtr outer)
      : scope_(std::make_shared<Scope>(info.slots, std::move(outer))) {
    evaluator.budget_.allocate(info.slots + 2, sizeof(Value));
    evaluator.enter(info, *scope_);
  }
  ~Entered() {
    for (Value& value : scope_->slots) value = Value();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  const ScopePtr& operator*() const { return scope_; }
  Scope* operator->() const { return scope_.get(); }

 private:
  ScopePtr scope_;
};

inline Value& variable(Scope& scope, VariableRef ref) {
  Scope* holder = &scope;
  for (uint32_t i = 0; i < ref.hops; ++i) holder = holder->outer.get();
  return holder->slots[ref.slot];
}

}  // namespace mlxcel::text
