// Statements.
#include "base/error.h"
#include "text/jinja_eval.h"
#include "text/jinja_format.h"
#include "text/jinja_loop.h"
#include "text/jinja_operators.h"

namespace mlxcel::text {

using base::bad_input;

Text Evaluator::render() {
  try {
    const Entered root(*this, template_.scope, nullptr);
    TextBuilder out(budget_);
    run_block(template_.body, *root, out);
    return out.take();
  } catch (const base::Error& error) {
    throw base::Error(error.kind(), fmt::format("{}:{}: {}", template_.name, line_, error.what()));
  } catch (const std::bad_alloc&) {
    throw base::resource_error("{}:{}: out of memory while rendering", template_.name, line_);
  }
}

Value Evaluator::resolve(const std::string& name) const {
  if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
  const Function* function = find_global(name);
  if (function == nullptr) return {};
  auto callable = std::make_shared<Callable>();
  callable->function = function;
  return CallablePtr(std::move(callable));
}

void Evaluator::enter(const ScopeInfo& info, Scope& scope) {
  budget_.step(info.loads.size());
  for (const ScopeInfo::Load& load : info.loads) {
    Value& slot = scope.slots[load.slot];
    switch (load.action) {
      case ScopeInfo::Action::kParameter:
        break;
      case ScopeInfo::Action::kUndefined:
        slot = Value();
        break;
      case ScopeInfo::Action::kAlias:
        slot = variable(scope, load.source);
        break;
      case ScopeInfo::Action::kResolve:
        slot = resolve(load.name->bytes);
        break;
    }
  }
}

Evaluator::Flow Evaluator::run_block(const Block& block, const ScopePtr& scope, TextBuilder& out) {
  const Budget::Level level(budget_);
  for (const auto& stmt : block) {
    budget_.step();
    line_ = stmt->line;
    if (const Flow flow = run(*stmt, scope, out); flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      run_output(stmt, scope, out);
      break;
    case StmtKind::kIf:
      return run_if(stmt, scope, out);
    case StmtKind::kFor:
      return run_for(stmt, scope, out);
    case StmtKind::kSet:
      run_set(stmt, scope);
      break;
    case StmtKind::kSetBlock:
    case StmtKind::kFilterBlock:
      return run_captured(stmt, scope, out);
    case StmtKind::kWith:
    case StmtKind::kScope:
      return run_with(stmt, scope, out);
    case StmtKind::kMacro: {
      budget_.allocate(sizeof(Callable));
      auto callable = std::make_shared<Callable>();
      callable->macro = stmt.macro.get();
      callable->scope = scope;
      variable(*scope, stmt.macro_ref) = CallablePtr(std::move(callable));
      break;
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

void Evaluator::run_output(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  for (const ExprPtr& expr : stmt.expressions) {
    append_str(budget_, out, eval(*expr, scope));
    if (out.size() > budget_.limits().output_bytes) {
      throw base::resource_error("the template writes more than {} bytes",
                                 budget_.limits().output_bytes);
    }
  }
}

Evaluator::Flow Evaluator::run_if(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  for (size_t i = 0; i < stmt.expressions.size(); ++i) {
    if (truthy(eval(*stmt.expressions[i], scope))) return run_block(stmt.blocks[i], scope, out);
  }
  if (stmt.blocks.size() == stmt.expressions.size()) return Flow::kNormal;
  return run_block(stmt.blocks.back(), scope, out);
}

Evaluator::Flow Evaluator::run_for(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  const auto loop = std::make_shared<LoopState>(budget_, eval(*stmt.expressions[1], scope));
  struct Finish {
    LoopState& loop;
    ~Finish() { loop.finish(); }
  } const finish{*loop};
  const Entered body(*this, stmt.scopes[0], scope);
  const Entered test(*this, stmt.scopes[2], scope);
  if (stmt.expressions[2] != nullptr) {
    loop->accepts = [&](const Value& item) {
      budget_.step();
      enter(stmt.scopes[2], *(*test));
      assign(*stmt.expressions[3], item, *(*test));
      return truthy(eval(*stmt.expressions[2], *test));
    };
  }
  bool completed = false;  // some pass reached the end of the body
  while (loop->advance()) {
    budget_.step();
    enter(stmt.scopes[0], *(*body));
    assign(*stmt.expressions[0], loop->current, *(*body));
    body->slots[static_cast<size_t>(stmt.loop_slot)] = loop;
    const Flow flow = run_block(stmt.blocks[0], *body, out);
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNormal) completed = true;
  }
  // As in the reference, `break` or `continue` in every pass counts as no pass.
  if (completed || stmt.blocks[1].empty()) return Flow::kNormal;
  const Entered otherwise(*this, stmt.scopes[1], scope);
  return run_block(stmt.blocks[1], *otherwise, out);
}

// A block whose text is assigned or filtered.
Evaluator::Flow Evaluator::run_captured(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  const Entered inner(*this, stmt.scopes[0], scope);
  TextBuilder text(budget_);
  if (const Flow flow = run_block(stmt.blocks[0], *inner, text); flow != Flow::kNormal) return flow;
  const bool assigns = stmt.kind == StmtKind::kSetBlock;
  const Expr* filter = stmt.expressions[assigns ? 1 : 0].get();
  Value value = text.finish();
  if (filter != nullptr) {
    captured_ = std::move(value);
    value = eval(*filter, *inner);
    captured_ = Value();
  }
  if (assigns) {
    check_namespaces(*stmt.expressions[0], *scope);
    assign(*stmt.expressions[0], std::move(value), *scope);
  } else {
    append_str(budget_, out, value);
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::run_with(const Stmt& stmt, const ScopePtr& scope, TextBuilder& out) {
  const Entered inner(*this, stmt.scopes[0], scope);
  for (size_t i = 0; i + 1 < stmt.expressions.size(); i += 2) {
    assign(*stmt.expressions[i], eval(*stmt.expressions[i + 1], scope), *(*inner));
  }
  return run_block(stmt.blocks[0], *inner, out);
}

void Evaluator::run_set(const Stmt& stmt, const ScopePtr& scope) {
  check_namespaces(*stmt.expressions[0], *scope);
  Value value = eval(*stmt.expressions[1], scope);
  line_ = stmt.line;
  assign(*stmt.expressions[0], std::move(value), *scope);
}

void Evaluator::check_namespaces(const Expr& target, Scope& scope) {
  if (target.kind == ExprKind::kNamespaceTarget) {
    if (!variable(scope, target.children[0]->ref).is<NamespacePtr>()) {
      throw bad_input("cannot assign attribute on non-namespace object");
    }
  } else if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : target.children) check_namespaces(*item, scope);
  }
}

void Evaluator::assign(const Expr& target, Value value, Scope& scope) {
  if (target.kind == ExprKind::kName) {
    variable(scope, target.ref) = std::move(value);
    return;
  }
  if (target.kind == ExprKind::kNamespaceTarget) {
    if (target.name->bytes.starts_with('_')) {
      throw bad_input("the namespace attribute '{}' begins with an underscore", target.name->bytes);
    }
    budget_.allocate(2 * sizeof(Value));
    const auto* names = variable(scope, target.children[0]->ref).get<NamespacePtr>();
    if (names == nullptr) throw bad_input("cannot assign attribute on non-namespace object");
    (*names)->set(target.name, std::move(value));
    return;
  }
  auto items = iterate(budget_, value);
  if (items.size() != target.children.size()) {
    throw bad_input("{} values to unpack (expected {}, got {})",
                    items.size() < target.children.size() ? "not enough" : "too many",
                    target.children.size(), items.size());
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.children[i], std::move(items[i]), scope);
}

}  // namespace mlxcel::text
