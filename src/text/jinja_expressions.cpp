// The expression grammar of the parser, lowest precedence first.
#include <algorithm>

#include "text/jinja_parser.h"
#include "text/jinja_parser_level.h"

namespace mlxcel::text {
namespace {

constexpr size_t kMaxKeywords = 200;

}  // namespace

ExprPtr Parser::node(ExprKind kind, int line) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

ExprPtr Parser::node(ExprKind kind, int line, ExprPtr first, ExprPtr second) const {
  ExprPtr expr = node(kind, line);
  adopt(*expr, std::move(first));
  if (second != nullptr) adopt(*expr, std::move(second));
  return expr;
}

// Chains like a + b + c ... grow downwards without recursion of the parser, so depth is counted
// here.
void Parser::adopt(Expr& parent, ExprPtr child) const {
  if (child != nullptr) {
    if (child->depth >= kMaxParserDepth) {
      throw base::unsupported("{}:{}: an expression nests deeper than {} levels", name_,
                              parent.line, kMaxParserDepth);
    }
    parent.depth = std::max(parent.depth, child->depth + 1);
  }
  parent.children.push_back(std::move(child));
}

bool Parser::tuple_ends(std::string_view stop_name) const {
  const Token& token = current();
  return token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd ||
         token.is(")") || (!stop_name.empty() && token.is_name(stop_name));
}

ExprPtr Parser::finish_tuple(std::vector<ExprPtr> items, bool is_tuple, bool parenthesized,
                             int line) {
  if (!is_tuple) {
    if (!items.empty()) return std::move(items.front());
    if (!parenthesized) fail(fmt::format("expected an expression, found {}", describe(current())));
  }
  ExprPtr result = node(ExprKind::kTuple, line);
  for (ExprPtr& item : items) adopt(*result, std::move(item));
  return result;
}

ExprPtr Parser::tuple(Conditional conditional, std::string_view stop_name) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect(",");
    if (tuple_ends(stop_name)) break;
    items.push_back(expression(conditional));
    if (!current().is(",")) break;
    is_tuple = true;
  }
  return finish_tuple(std::move(items), is_tuple, false, line);
}

ExprPtr Parser::parenthesized() {
  const int line = current().line;
  expect("(");
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect(",");
    if (tuple_ends({})) break;
    items.push_back(expression());
    if (!current().is(",")) break;
    is_tuple = true;
  }
  ExprPtr result = finish_tuple(std::move(items), is_tuple, true, line);
  expect(")");
  return result;
}

ExprPtr Parser::expression(Conditional conditional) {
  const Level level(*this);
  return conditional == Conditional::kAllowed ? conditional_expression() : or_expression();
}

ExprPtr Parser::conditional_expression() {
  const int line = current().line;
  ExprPtr value = or_expression();
  while (skip_name("if")) {
    ExprPtr result = node(ExprKind::kConditional, line, or_expression(), std::move(value));
    adopt(*result, skip_name("else") ? expression() : nullptr);
    value = std::move(result);
  }
  return value;
}

ExprPtr Parser::or_expression() {
  ExprPtr left = and_expression();
  while (current().is_name("or")) {
    const int line = next().line;
    left = node(ExprKind::kOr, line, std::move(left), and_expression());
  }
  return left;
}

ExprPtr Parser::and_expression() {
  ExprPtr left = not_expression();
  while (current().is_name("and")) {
    const int line = next().line;
    left = node(ExprKind::kAnd, line, std::move(left), not_expression());
  }
  return left;
}

ExprPtr Parser::not_expression() {
  if (!current().is_name("not")) return comparison();
  const Level level(*this);
  const int line = next().line;
  return node(ExprKind::kNot, line, not_expression());
}

ExprPtr Parser::comparison() {
  constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::kEq}, {"!=", Op::kNe},
                                                      {"<", Op::kLt},  {"<=", Op::kLe},
                                                      {">", Op::kGt},  {">=", Op::kGe}};
  ExprPtr first = sum();
  ExprPtr result;
  for (;;) {
    const int line = current().line;
    Op op = Op::kIn;
    const auto* known = std::find_if(std::begin(kOps), std::end(kOps),
                                     [&](const auto& row) { return current().is(row.first); });
    if (known != std::end(kOps)) {
      op = known->second;
      next();
    } else if (current().is_name("not") && look().is_name("in")) {
      op = Op::kNotIn;
      next();
      next();
    } else if (!skip_name("in")) {
      break;
    }
    if (result == nullptr) result = node(ExprKind::kCompare, line, std::move(first));
    result->ops.push_back(op);
    adopt(*result, sum());
  }
  return result == nullptr ? std::move(first) : std::move(result);
}

ExprPtr Parser::sum() {
  ExprPtr left = concatenation();
  while (current().is("+") || current().is("-")) {
    const Token token = next();
    left = node(ExprKind::kBinary, token.line, std::move(left), concatenation());
    left->op = token.is("+") ? Op::kAdd : Op::kSub;
  }
  return left;
}

ExprPtr Parser::concatenation() {
  ExprPtr first = product();
  if (!current().is("~")) return first;
  ExprPtr result = node(ExprKind::kConcat, current().line, std::move(first));
  while (skip("~")) adopt(*result, product());
  return result;
}

ExprPtr Parser::product() {
  ExprPtr left = power();
  while (current().is("*") || current().is("/") || current().is("//") || current().is("%")) {
    const Token token = next();
    left = node(ExprKind::kBinary, token.line, std::move(left), power());
    left->op = token.is("*")    ? Op::kMul
               : token.is("/")  ? Op::kDiv
               : token.is("//") ? Op::kFloorDiv
                                : Op::kMod;
  }
  return left;
}

ExprPtr Parser::power() {
  ExprPtr left = unary();
  while (current().is("**")) {
    const int line = next().line;
    left = node(ExprKind::kBinary, line, std::move(left), unary());
    left->op = Op::kPow;
  }
  return left;
}

ExprPtr Parser::unary(bool with_filter) {
  ExprPtr result;
  if (current().is("-") || current().is("+")) {
    const Level level(*this);
    const Token token = next();
    result = node(ExprKind::kUnary, token.line, unary(false));
    result->op = token.is("-") ? Op::kMinus : Op::kPlus;
  } else {
    result = primary();
  }
  result = postfix(std::move(result));
  return with_filter ? filtered(std::move(result)) : std::move(result);
}

ExprPtr Parser::primary(bool with_namespace) {
  const Token& token = current();
  const int line = token.line;
  const auto constant = [&](Value value) {
    ExprPtr result = node(ExprKind::kConst, line);
    result->constant = std::move(value);
    return result;
  };
  switch (token.kind) {
    case TokenKind::kName: {
      const std::string name = next().text;
      if (name == "true" || name == "True") return constant(true);
      if (name == "false" || name == "False") return constant(false);
      if (name == "none" || name == "None") return constant(None{});
      ExprPtr result = node(ExprKind::kName, line);
      result->name = make_text(name);
      if (with_namespace && skip(".")) {
        // ns.attribute: the variable is the only child, so that the scope pass finds it.
        ExprPtr target = node(ExprKind::kNamespaceTarget, line, std::move(result));
        target->name = make_text(expect_name());
        return target;
      }
      return result;
    }
    case TokenKind::kString: {
      std::string text;
      while (current().kind == TokenKind::kString) text += next().text;
      return constant(make_text(std::move(text)));
    }
    case TokenKind::kInteger:
      return constant(next().integer);
    case TokenKind::kFloat:
      return constant(next().real);
    default:
      break;
  }
  if (token.is("(")) return parenthesized();
  if (token.is("[")) return list();
  if (token.is("{")) return dict();
  fail(fmt::format("expected an expression, found {}", describe(token)));
}

ExprPtr Parser::list() {
  ExprPtr result = node(ExprKind::kList, current().line);
  expect("[");
  while (!current().is("]")) {
    if (!result->children.empty()) expect(",");
    if (current().is("]")) break;
    adopt(*result, expression());
  }
  expect("]");
  return result;
}

ExprPtr Parser::dict() {
  ExprPtr result = node(ExprKind::kDict, current().line);
  expect("{");
  while (!current().is("}")) {
    if (!result->children.empty()) expect(",");
    if (current().is("}")) break;
    adopt(*result, expression());
    expect(":");
    adopt(*result, expression());
  }
  expect("}");
  return result;
}

ExprPtr Parser::postfix(ExprPtr node) {
  for (;;) {
    if (current().is(".") || current().is("[")) {
      node = subscript(std::move(node));
    } else if (current().is("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::filtered(ExprPtr node) {
  for (;;) {
    if (current().is("|")) {
      node = filter(std::move(node));
    } else if (current().is_name("is")) {
      node = test(std::move(node));
    } else if (current().is("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::subscript(ExprPtr object) {
  const Token token = next();
  if (token.is(".")) {
    const Token attribute = next();
    if (attribute.kind == TokenKind::kName) {
      ExprPtr result = node(ExprKind::kAttribute, token.line, std::move(object));
      result->name = make_text(attribute.text);
      return result;
    }
    if (attribute.kind != TokenKind::kInteger)
      fail("expected a name or a number after '.'", token.line);
    ExprPtr index = node(ExprKind::kConst, attribute.line);
    index->constant = attribute.integer;
    return node(ExprKind::kItem, token.line, std::move(object), std::move(index));
  }
  std::vector<ExprPtr> indices;
  while (!current().is("]")) {
    if (!indices.empty()) expect(",");
    ExprPtr start = current().is(":") ? nullptr : expression();
    if (current().is(":")) {
      if (!indices.empty()) refuse("a slice inside a tuple");
      ExprPtr slice = node(ExprKind::kSlice, token.line, std::move(object));
      adopt(*slice, std::move(start));
      for (int i = 0; i < 2; ++i) {
        const bool open = skip(":");
        const bool given = open && !current().is(":") && !current().is("]") && !current().is(",");
        adopt(*slice, given ? expression() : nullptr);
      }
      if (current().is(",")) refuse("a slice inside a tuple");
      expect("]");
      return slice;
    }
    indices.push_back(std::move(start));
  }
  expect("]");
  if (indices.size() == 1) {
    return node(ExprKind::kItem, token.line, std::move(object), std::move(indices.front()));
  }
  ExprPtr index = node(ExprKind::kTuple, token.line);
  for (ExprPtr& item : indices) adopt(*index, std::move(item));
  return node(ExprKind::kItem, token.line, std::move(object), std::move(index));
}

void Parser::arguments(Expr& call) {
  const int line = current().line;
  expect("(");
  const auto ensure = [&](bool valid) {
    if (!valid) fail("invalid syntax for function call expression", line);
  };
  bool need_comma = false;
  while (!current().is(")")) {
    if (need_comma) {
      expect(",");
      if (current().is(")")) break;
    }
    need_comma = true;
    if (skip("*")) {
      ensure(call.star_arguments == nullptr && call.star_keywords == nullptr);
      call.star_arguments = expression();
    } else if (skip("**")) {
      ensure(call.star_keywords == nullptr);
      call.star_keywords = expression();
    } else if (current().kind == TokenKind::kName && look().is("=")) {
      ensure(call.star_keywords == nullptr);
      if (call.keywords.size() >= kMaxKeywords) fail("too many keyword arguments");
      TextPtr name = make_text(next().text);
      next();
      for (const Keyword& keyword : call.keywords) {
        if (keyword.name->bytes == name->bytes)
          fail(fmt::format("argument '{}' is repeated", name->bytes));
      }
      call.keywords.push_back({std::move(name), expression()});
    } else {
      ensure(call.star_arguments == nullptr && call.star_keywords == nullptr &&
             call.keywords.empty());
      adopt(call, expression());
    }
  }
  expect(")");
  const auto deepen = [&](const ExprPtr& child) {
    if (child != nullptr) call.depth = std::max(call.depth, child->depth + 1);
  };
  deepen(call.star_arguments);
  deepen(call.star_keywords);
  for (const Keyword& keyword : call.keywords) deepen(keyword.value);
}

ExprPtr Parser::call(ExprPtr callee) {
  ExprPtr result = node(ExprKind::kCall, current().line, std::move(callee));
  arguments(*result);
  return result;
}

// One or more filters. `node` is nullptr when a block is filtered.
ExprPtr Parser::filter(ExprPtr value, bool first_without_pipe) {
  while (first_without_pipe || current().is("|")) {
    if (!first_without_pipe) next();
    first_without_pipe = false;
    ExprPtr result = node(ExprKind::kFilter, current().line);
    std::string name = expect_name();
    while (skip(".")) name.append(".").append(expect_name());
    result->name = make_text(std::move(name));
    adopt(*result, std::move(value));
    if (current().is("(")) arguments(*result);
    value = std::move(result);
  }
  return value;
}

ExprPtr Parser::test(ExprPtr value) {
  const int line = next().line;
  const bool negated = skip_name("not");
  std::string name = expect_name();
  while (skip(".")) name.append(".").append(expect_name());
  ExprPtr result = node(ExprKind::kTest, line, std::move(value));
  result->name = make_text(std::move(name));
  const Token& token = current();
  const bool starts_argument = (token.kind == TokenKind::kName && token.text != "else" &&
                                token.text != "or" && token.text != "and") ||
                               token.kind == TokenKind::kString ||
                               token.kind == TokenKind::kInteger ||
                               token.kind == TokenKind::kFloat || token.is("[") || token.is("{");
  if (token.is("(")) {
    arguments(*result);
  } else if (starts_argument) {
    if (token.is_name("is")) fail("you cannot chain multiple tests with is");
    ExprPtr argument = primary();
    adopt(*result, postfix(std::move(argument)));
  }
  return negated ? node(ExprKind::kNot, line, std::move(result)) : std::move(result);
}

}  // namespace mlxcel::text
