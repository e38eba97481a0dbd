// The parsed template. Built once, then read by any number of renderings at the same time, so
// nothing in it changes after the scope pass has given every name its place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/jinja_value.h"

namespace mlxcel::text {

struct Function;  // jinja_call.h

// Where a variable lives: `hops` scopes outwards, then its slot. See jinja_scope.h.
struct VariableRef {
  uint32_t hops = 0;
  uint32_t slot = 0;
};

enum class ExprKind : uint8_t {
  kConst,
  kName,
  kNamespaceTarget,  // ns.attribute on the left of `set`
  kList,
  kTuple,
  kDict,  // children: key, value, key, value
  kUnary,
  kBinary,
  kCompare,  // children: n + 1 operands, ops: n operators
  kAnd,
  kOr,
  kNot,
  kConcat,
  kConditional,  // children: test, then, else or nullptr
  kAttribute,
  kItem,    // children: object, index
  kSlice,   // children: object, start, stop, step, each of the last three or nullptr
  kCall,    // children: callee, positional arguments
  kFilter,  // children: value (nullptr in a filter block), positional arguments
  kTest,    // the same
};

enum class Op : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kPlus,
  kMinus,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn,
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  TextPtr name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  int line = 0;
  int depth = 1;        // levels of expressions, itself included
  Value constant;       // kConst
  TextPtr name;         // of a variable, attribute, filter or test
  VariableRef ref;      // kName, kNamespaceTarget
  Op op = Op::kAdd;     // kUnary, kBinary
  std::vector<Op> ops;  // kCompare
  std::vector<ExprPtr> children;
  std::vector<Keyword> keywords;       // of calls, filters and tests
  ExprPtr star_arguments;              // *expr
  ExprPtr star_keywords;               // **expr
  const Function* function = nullptr;  // kFilter, kTest; nullptr when there is none of that name
};

// How the variables of a scope begin each time it is entered.
struct ScopeInfo {
  enum class Action : uint8_t { kParameter, kResolve, kAlias, kUndefined };
  struct Load {
    uint32_t slot = 0;
    Action action = Action::kUndefined;
    TextPtr name;        // kResolve: of the template's variable
    VariableRef source;  // kAlias: seen from this scope
  };
  size_t slots = 0;
  std::vector<Load> loads;
};

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

enum class StmtKind : uint8_t {
  kOutput,       // expressions
  kIf,           // expressions: tests; blocks: one for each test, and one for else
  kFor,          // expressions: target, iterable, test or nullptr, target of the test or nullptr;
                 // blocks: body, else; scopes: body, else, test
  kSet,          // expressions: target, value
  kSetBlock,     // expressions: target, filter or nullptr; blocks: body; scopes: body
  kFilterBlock,  // expressions: filter; blocks: body; scopes: body
  kWith,         // expressions: target, value, target, value; blocks: body; scopes: body
  kScope,        // blocks: body; scopes: body ({% generation %})
  kMacro,
  kBreak,
  kContinue,
};

struct MacroDefinition {
  TextPtr name;
  int line = 0;
  std::vector<TextPtr> parameters;
  std::vector<uint32_t> parameter_slots;
  std::vector<ExprPtr> defaults;  // one for each parameter, nullptr when it has none
  Block body;
  ScopeInfo scope;
  int kwargs_slot = -1;  // where the body wants them, when it names them
  int varargs_slot = -1;
  int caller_slot = -1;
};

struct Stmt {
  StmtKind kind = StmtKind::kOutput;
  int line = 0;
  std::vector<ExprPtr> expressions;
  std::vector<Block> blocks;
  std::vector<ScopeInfo> scopes;
  int loop_slot = -1;     // kFor: of `loop` in the body's scope, when the body names it
  VariableRef macro_ref;  // kMacro
  std::unique_ptr<MacroDefinition> macro;
};

struct Template {
  std::string name;
  Block body;
  ScopeInfo scope;
};

}  // namespace mlxcel::text
