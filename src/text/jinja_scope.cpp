#include "text/jinja_scope.h"

#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "text/jinja_call.h"

namespace mlxcel::text {
namespace {

constexpr uint64_t kMaxWork = 10'000'000;

// Names of the variables of one scope, and how each begins. The branches of an `if` work on copies
// that share the slots.
class Symbols {
 public:
  Symbols(const Symbols* parent, uint64_t* work)
      : parent_(parent), work_(work), slots_(std::make_shared<std::map<std::string, uint32_t>>()) {}

  std::optional<VariableRef> find(const std::string& name) const {
    uint32_t hops = 0;
    for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent_, ++hops) {
      charge(1);
      if (const auto found = symbols->refs_.find(name); found != symbols->refs_.end()) {
        return VariableRef{hops, found->second};
      }
    }
    return std::nullopt;
  }

  void load(const std::string& name) {
    if (!find(name)) define(name, {0, ScopeInfo::Action::kResolve, make_text(name), {}});
  }

  void store(const std::string& name) {
    stores_.insert(name);
    if (refs_.contains(name)) return;
    define(name, alias_or(name, ScopeInfo::Action::kUndefined));
  }

  uint32_t declare_parameter(const std::string& name) {
    stores_.insert(name);
    return define(name, {0, ScopeInfo::Action::kParameter, nullptr, {}});
  }

  Symbols branch() const {
    charge(refs_.size() + loads_.size() + stores_.size() + 1);
    return *this;
  }

  // After an `if`: names that only some branch stores keep their outer value in the others.
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches) {
      charge(branch.refs_.size() + branch.loads_.size() + branch.stores_.size() + 1);
      for (const std::string& name : branch.stores_) {
        if (!stores_.contains(name)) stored.insert(name);
      }
    }
    for (const Symbols& branch : branches) {
      for (const auto& [name, slot] : branch.refs_) refs_[name] = slot;
      for (const auto& [slot, how] : branch.loads_) loads_[slot] = how;
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : stored)
      define(name, alias_or(name, ScopeInfo::Action::kResolve));
  }

  ScopeInfo info() const {
    ScopeInfo result;
    result.slots = slots_->size();
    for (const auto& [slot, how] : loads_) result.loads.push_back(how);
    return result;
  }

 private:
  uint32_t define(const std::string& name, ScopeInfo::Load how) {
    const uint32_t slot =
        slots_->try_emplace(name, static_cast<uint32_t>(slots_->size())).first->second;
    how.slot = slot;
    refs_[name] = slot;
    loads_[slot] = std::move(how);
    return slot;
  }

  // An alias of the variable around this scope, or else what `otherwise` says.
  ScopeInfo::Load alias_or(const std::string& name, ScopeInfo::Action otherwise) const {
    if (parent_ != nullptr) {
      if (auto outer = parent_->find(name)) {
        return {0, ScopeInfo::Action::kAlias, nullptr, {outer->hops + 1, outer->slot}};
      }
    }
    return {0, otherwise, make_text(name), {}};
  }

  void charge(uint64_t amount) const {
    *work_ += amount;
    if (*work_ > kMaxWork)
      throw base::unsupported("the template has too many names in too many branches");
  }

  const Symbols* parent_;
  uint64_t* work_;
  std::shared_ptr<std::map<std::string, uint32_t>> slots_;
  std::map<std::string, uint32_t> refs_;
  std::map<uint32_t, ScopeInfo::Load> loads_;
  std::set<std::string> stores_;
};

template <typename Visit>
void for_each_child(const Expr& expr, const Visit& visit) {
  for (const ExprPtr& child : expr.children) {
    if (child != nullptr) visit(*child);
  }
  for (const Keyword& keyword : expr.keywords) visit(*keyword.value);
  if (expr.star_arguments != nullptr) visit(*expr.star_arguments);
  if (expr.star_keywords != nullptr) visit(*expr.star_keywords);
}

// First look: which names a scope loads and stores, without looking into inner scopes.
class Collector {
 public:
  explicit Collector(Symbols& symbols) : symbols_(&symbols) {}

  void loads(const Expr* expr) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kName) symbols_->load(expr->name->bytes);
    for_each_child(*expr, [this](const Expr& child) { loads(&child); });
  }

  void target(const Expr& expr) {
    if (expr.kind == ExprKind::kName) {
      symbols_->store(expr.name->bytes);
    } else if (expr.kind == ExprKind::kNamespaceTarget) {
      loads(expr.children[0].get());
    } else {
      for (const ExprPtr& item : expr.children) target(*item);
    }
  }

  void parameters(const Expr& expr) {
    if (expr.kind == ExprKind::kName) symbols_->declare_parameter(expr.name->bytes);
    for (const ExprPtr& item : expr.children) parameters(*item);
  }

  void block(const Block& block) {
    for (const auto& stmt : block) visit(*stmt);
  }

 private:
  void visit(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kOutput:
        for (const ExprPtr& expr : stmt.expressions) loads(expr.get());
        break;
      case StmtKind::kIf:
        visit_if(stmt);
        break;
      case StmtKind::kFor:
        loads(stmt.expressions[1].get());
        break;
      case StmtKind::kSet:
        loads(stmt.expressions[1].get());
        target(*stmt.expressions[0]);
        break;
      case StmtKind::kSetBlock:
        target(*stmt.expressions[0]);
        break;
      case StmtKind::kFilterBlock:
        loads(stmt.expressions[0].get());
        break;
      case StmtKind::kWith:
        for (size_t i = 1; i < stmt.expressions.size(); i += 2) loads(stmt.expressions[i].get());
        break;
      case StmtKind::kMacro:
        symbols_->store(stmt.macro->name->bytes);
        break;
      case StmtKind::kScope:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        break;
    }
  }

  void visit_if(const Stmt& stmt) {
    Symbols* const outer = symbols_;
    const auto in_branch = [&](Symbols& from, const auto& work) {
      Symbols branch = from.branch();
      Symbols* const previous = symbols_;
      symbols_ = &branch;
      work();
      symbols_ = previous;
      return branch;
    };
    loads(stmt.expressions[0].get());
    std::vector<Symbols> branches;
    branches.push_back(in_branch(*outer, [&] { block(stmt.blocks[0]); }));
    // All `elif` share a copy; each is an `if` of its own inside it.
    branches.push_back(in_branch(*outer, [&] {
      for (size_t i = 1; i < stmt.expressions.size(); ++i) {
        loads(stmt.expressions[i].get());
        symbols_->merge({in_branch(*symbols_, [&] { block(stmt.blocks[i]); })});
      }
    }));
    if (stmt.blocks.size() > stmt.expressions.size()) {
      branches.push_back(in_branch(*outer, [&] { block(stmt.blocks.back()); }));
    }
    outer->merge(branches);
  }

  Symbols* symbols_;
};

// Which of a macro's special names its body reads before it stores them.
class SpecialNames {
 public:
  bool reads(const std::string& name) const { return read_.contains(name); }

  void block(const Block& block) {
    for (const auto& stmt : block) visit(*stmt);
  }

 private:
  void expression(const Expr* expr) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kName && wanted_.contains(expr->name->bytes))
      read_.insert(expr->name->bytes);
    for_each_child(*expr, [this](const Expr& child) { expression(&child); });
  }
  void target(const Expr& expr) {
    if (expr.kind == ExprKind::kName) wanted_.erase(expr.name->bytes);
    if (expr.kind == ExprKind::kTuple) {
      for (const ExprPtr& item : expr.children) target(*item);
    }
  }
  void visit(const Stmt& stmt) {
    const bool has_targets = stmt.kind == StmtKind::kFor || stmt.kind == StmtKind::kSet ||
                             stmt.kind == StmtKind::kSetBlock || stmt.kind == StmtKind::kWith;
    const size_t stride =
        stmt.kind == StmtKind::kWith ? 2 : std::max<size_t>(stmt.expressions.size(), 1);
    for (size_t i = 0; i < stmt.expressions.size(); ++i) {
      if (has_targets && i % stride == 0)
        target(*stmt.expressions[i]);
      else
        expression(stmt.expressions[i].get());
    }
    if (stmt.macro != nullptr) {
      for (const TextPtr& parameter : stmt.macro->parameters) wanted_.erase(parameter->bytes);
      for (const ExprPtr& value : stmt.macro->defaults) expression(value.get());
      block(stmt.macro->body);
    }
    for (const Block& inner : stmt.blocks) block(inner);
  }

  std::set<std::string> wanted_ = {"caller", "kwargs", "varargs"};
  std::set<std::string> read_;
};

ExprPtr clone_target(const Expr& target) {
  auto copy = std::make_unique<Expr>();
  copy->kind = target.kind;
  copy->line = target.line;
  copy->depth = target.depth;
  copy->name = target.name;
  for (const ExprPtr& item : target.children) copy->children.push_back(clone_target(*item));
  return copy;
}

// Second look: the places of names, scope by scope.
class Resolver {
 public:
  explicit Resolver(const std::string& name) : name_(name) {}

  void run(Template& parsed) {
    Symbols root(nullptr, &work_);
    Collector(root).block(parsed.body);
    block(parsed.body, root, Branch::kNo);
    parsed.scope = root.info();
  }

  int line() const { return line_; }

 private:
  // Inside an `if` of the same scope, an unknown filter fails only when it is reached.
  enum class Branch : uint8_t { kNo, kYes };

  void block(Block& block, Symbols& symbols, Branch branch) {
    for (auto& stmt : block) visit(*stmt, symbols, branch);
  }

  void expression(Expr* expr, Symbols& symbols, Branch branch) {
    if (expr == nullptr) return;
    line_ = expr->line;
    if (expr->kind == ExprKind::kConditional) branch = Branch::kYes;
    if (expr->kind == ExprKind::kName) expr->ref = *symbols.find(expr->name->bytes);
    if (expr->kind == ExprKind::kFilter || expr->kind == ExprKind::kTest) {
      const bool filter = expr->kind == ExprKind::kFilter;
      expr->function = filter ? find_filter(expr->name->bytes) : find_test(expr->name->bytes);
      if (expr->function == nullptr && branch == Branch::kNo) {
        throw base::unsupported("no {} named '{}'", filter ? "filter" : "test", expr->name->bytes);
      }
    }
    for (ExprPtr& child : expr->children) expression(child.get(), symbols, branch);
    for (Keyword& keyword : expr->keywords) expression(keyword.value.get(), symbols, branch);
    expression(expr->star_arguments.get(), symbols, branch);
    expression(expr->star_keywords.get(), symbols, branch);
  }

  void target(Expr& expr, Symbols& symbols) {
    line_ = expr.line;
    if (expr.kind == ExprKind::kName && loops_ > 0 && expr.name->bytes == "loop") {
      throw base::bad_input("cannot assign to the special variable 'loop' in a loop");
    }
    expression(&expr, symbols, Branch::kNo);
  }

  void visit(Stmt& stmt, Symbols& symbols, Branch branch) {
    line_ = stmt.line;
    switch (stmt.kind) {
      case StmtKind::kOutput:
        for (ExprPtr& expr : stmt.expressions) expression(expr.get(), symbols, branch);
        break;
      case StmtKind::kIf:
        for (ExprPtr& test : stmt.expressions) expression(test.get(), symbols, Branch::kYes);
        for (Block& inner : stmt.blocks) block(inner, symbols, Branch::kYes);
        break;
      case StmtKind::kSet:
        expression(stmt.expressions[1].get(), symbols, branch);
        target(*stmt.expressions[0], symbols);
        break;
      case StmtKind::kFor:
        visit_for(stmt, symbols, branch);
        break;
      case StmtKind::kMacro:
        visit_macro(stmt, symbols);
        break;
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        break;
      default:
        visit_scope(stmt, symbols, branch);
        break;
    }
  }

  // Statements with one block in a scope of its own.
  void visit_scope(Stmt& stmt, Symbols& symbols, Branch branch) {
    Symbols inner(&symbols, &work_);
    Collector collector(inner);
    if (stmt.kind == StmtKind::kWith) {
      for (size_t i = 0; i < stmt.expressions.size(); i += 2)
        collector.parameters(*stmt.expressions[i]);
    }
    if (stmt.kind == StmtKind::kFilterBlock) collector.loads(stmt.expressions[0].get());
    collector.block(stmt.blocks[0]);
    if (stmt.kind == StmtKind::kSetBlock) {
      target(*stmt.expressions[0], symbols);
      // The filter of a set block is seen from the block, but its names were never looked for
      // there.
      if (stmt.expressions[1] != nullptr) collector.loads(stmt.expressions[1].get());
      expression(stmt.expressions[1].get(), inner, Branch::kNo);
    } else if (stmt.kind == StmtKind::kFilterBlock) {
      expression(stmt.expressions[0].get(), inner, Branch::kNo);
    } else {
      for (size_t i = 0; i < stmt.expressions.size(); i += 2) {
        expression(stmt.expressions[i].get(), inner, Branch::kNo);
        expression(stmt.expressions[i + 1].get(), symbols, branch);
      }
    }
    block(stmt.blocks[0], inner, Branch::kNo);
    stmt.scopes.push_back(inner.info());
  }

  void visit_for(Stmt& stmt, Symbols& symbols, Branch branch) {
    ++loops_;
    Symbols body(&symbols, &work_);
    stmt.loop_slot = static_cast<int>(body.declare_parameter("loop"));
    Collector(body).parameters(*stmt.expressions[0]);
    Collector(body).block(stmt.blocks[0]);
    Symbols otherwise(&symbols, &work_);
    Collector(otherwise).block(stmt.blocks[1]);
    Symbols test(&symbols, &work_);
    if (stmt.expressions[2] != nullptr) {
      stmt.expressions[3] = clone_target(*stmt.expressions[0]);
      Collector(test).parameters(*stmt.expressions[3]);
      Collector(test).loads(stmt.expressions[2].get());
      target(*stmt.expressions[3], test);
      expression(stmt.expressions[2].get(), test, Branch::kNo);
    }
    expression(stmt.expressions[1].get(), symbols, branch);
    target(*stmt.expressions[0], body);
    block(stmt.blocks[0], body, Branch::kNo);
    block(stmt.blocks[1], otherwise, Branch::kNo);
    stmt.scopes = {body.info(), otherwise.info(), test.info()};
    --loops_;
  }

  void visit_macro(Stmt& stmt, Symbols& symbols) {
    MacroDefinition& macro = *stmt.macro;
    stmt.macro_ref = *symbols.find(macro.name->bytes);
    Symbols inner(&symbols, &work_);
    for (const TextPtr& name : macro.parameters) {
      macro.parameter_slots.push_back(inner.declare_parameter(name->bytes));
    }
    SpecialNames special;
    special.block(macro.body);
    const auto declare = [&](const char* name) {
      const bool is_parameter =
          std::any_of(macro.parameters.begin(), macro.parameters.end(),
                      [&](const TextPtr& parameter) { return parameter->bytes == name; });
      if (is_parameter || !special.reads(name)) return -1;
      return static_cast<int>(inner.declare_parameter(name));
    };
    macro.caller_slot = declare("caller");
    macro.kwargs_slot = declare("kwargs");
    macro.varargs_slot = declare("varargs");
    Collector collector(inner);
    for (const ExprPtr& value : macro.defaults) collector.loads(value.get());
    collector.block(macro.body);
    for (ExprPtr& value : macro.defaults) expression(value.get(), inner, Branch::kNo);
    block(macro.body, inner, Branch::kNo);
    macro.scope = inner.info();
  }

  std::string name_;
  uint64_t work_ = 0;
  int loops_ = 0;
  int line_ = 1;
};

}  // namespace

void resolve_scopes(Template& parsed) {
  Resolver resolver(parsed.name);
  try {
    resolver.run(parsed);
  } catch (const base::Error& error) {
    throw base::Error(error.kind(),
                      fmt::format("{}:{}: {}", parsed.name, resolver.line(), error.what()));
  }
}

}  // namespace mlxcel::text
