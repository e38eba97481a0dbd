#include "text/jinja_parser.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja_parser_level.h"
#include "text/jinja_scope.h"

namespace mlxcel::text {
namespace {

constexpr size_t kMaxSourceBytes = size_t{1} << 20U;

bool is_any_of(const Token& token, std::initializer_list<std::string_view> names) {
  return token.kind == TokenKind::kName &&
         std::find(names.begin(), names.end(), token.text) != names.end();
}

}  // namespace

Template parse_template(const std::string& source, const std::string& name) {
  if (source.size() > kMaxSourceBytes) {
    throw base::bad_input("{}: the template has {} bytes, expected at most {}", name, source.size(),
                          kMaxSourceBytes);
  }
  if (!base::is_valid_utf8(source))
    throw base::bad_input("{}: the template is not valid UTF-8", name);
  Template result;
  result.name = name;
  result.body = Parser(tokenize(source, name), name).parse();
  resolve_scopes(result);
  return result;
}

void Parser::fail(const std::string& message, int line) const {
  throw base::bad_input("{}:{}: {}", name_, line, message);
}

void Parser::refuse(const std::string& what) const {
  throw base::unsupported("{}:{}: {} is not supported in chat templates", name_, current().line,
                          what);
}

Token Parser::next() {
  Token token = current();
  if (token.kind != TokenKind::kEnd) ++at_;
  return token;
}

bool Parser::skip(std::string_view op) {
  if (!current().is(op)) return false;
  ++at_;
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  ++at_;
  return true;
}

void Parser::expect(std::string_view op) {
  if (!skip(op)) fail(fmt::format("expected '{}', found {}", op, describe(current())));
}

void Parser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) fail(fmt::format("expected {}, found {}", what, describe(current())));
  next();
}

std::string Parser::expect_name() {
  if (current().kind != TokenKind::kName)
    fail(fmt::format("expected a name, found {}", describe(current())));
  return next().text;
}

std::unique_ptr<Stmt> Parser::make_stmt(StmtKind kind) const {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->line = current().line;
  return stmt;
}

Block Parser::parse() {
  Block result = block({});
  if (current().kind != TokenKind::kEnd) fail(fmt::format("unexpected {}", describe(current())));
  return result;
}

// Statements up to a tag of that name (not consumed), or to the end when there are no names.
Block Parser::block(std::initializer_list<std::string_view> end_tags) {
  const Level level(*this);
  Block result;
  Stmt* output = nullptr;  // the statement that text and prints are added to
  const auto add_output = [&](ExprPtr piece) {
    if (output == nullptr) {
      result.push_back(make_stmt(StmtKind::kOutput));
      output = result.back().get();
      output->line = piece->line;
    }
    output->expressions.push_back(std::move(piece));
  };
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kData) {
      ExprPtr piece = node(ExprKind::kConst, current().line);
      piece->constant = make_text(next().text);
      add_output(std::move(piece));
    } else if (current().kind == TokenKind::kVariableBegin) {
      next();
      add_output(tuple());
      expect(TokenKind::kVariableEnd, "'}}'");
    } else {
      next();  // a block begins; the lexer makes nothing else here
      output = nullptr;
      if (is_any_of(current(), end_tags)) return result;
      if (auto stmt = statement()) result.push_back(std::move(stmt));
      expect(TokenKind::kBlockEnd, "'%}'");
    }
  }
  if (end_tags.size() != 0) {
    fail(fmt::format("unexpected end of template, expected {{% {} %}}", *(end_tags.end() - 1)));
  }
  return result;
}

// The end of a tag, then the block that it opens.
Block Parser::body(std::initializer_list<std::string_view> end_tags) {
  skip(":");
  expect(TokenKind::kBlockEnd, "'%}'");
  return block(end_tags);
}

std::unique_ptr<Stmt> Parser::statement() {
  using Method = std::unique_ptr<Stmt> (Parser::*)();
  constexpr std::pair<std::string_view, Method> kTags[] = {
      {"if", &Parser::parse_if},
      {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},
      {"macro", &Parser::parse_macro},
      {"with", &Parser::parse_with},
      {"filter", &Parser::parse_filter_block},
      {"generation", &Parser::parse_generation},
      {"print", &Parser::parse_print},
      {"break", &Parser::parse_loop_control},
      {"continue", &Parser::parse_loop_control},
  };
  const Token& tag = current();
  if (tag.kind != TokenKind::kName) fail(fmt::format("tag name expected, found {}", describe(tag)));
  for (const auto& [name, method] : kTags) {
    if (tag.text == name) return (this->*method)();
  }
  if (is_any_of(tag, {"call", "block", "extends", "include", "import", "from", "autoescape"})) {
    refuse(fmt::format("{{% {} %}}", tag.text));
  }
  fail(fmt::format("unknown tag {}", describe(tag)));
}

std::unique_ptr<Stmt> Parser::parse_if() {
  auto stmt = make_stmt(StmtKind::kIf);
  next();
  for (;;) {
    stmt->expressions.push_back(tuple(Conditional::kNot));
    stmt->blocks.push_back(body({"elif", "else", "endif"}));
    if (skip_name("elif")) continue;
    if (next().is_name("else")) {
      stmt->blocks.push_back(body({"endif"}));
      next();
    }
    return stmt;
  }
}

std::unique_ptr<Stmt> Parser::parse_for() {
  auto stmt = make_stmt(StmtKind::kFor);
  next();
  ExprPtr target = assign_target("in", false);
  if (!skip_name("in")) fail(fmt::format("expected 'in', found {}", describe(current())));
  stmt->expressions.push_back(std::move(target));
  stmt->expressions.push_back(tuple(Conditional::kNot, "recursive"));
  stmt->expressions.push_back(skip_name("if") ? expression() : nullptr);
  stmt->expressions.push_back(nullptr);
  if (current().is_name("recursive")) refuse("{% for ... recursive %}");
  ++loop_depth_;
  stmt->blocks.push_back(body({"endfor", "else"}));
  --loop_depth_;
  stmt->blocks.emplace_back();
  if (next().text == "else") {
    stmt->blocks.back() = body({"endfor"});
    next();
  }
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_set() {
  auto stmt = make_stmt(StmtKind::kSet);
  next();
  stmt->expressions.push_back(assign_target({}, true));
  if (skip("=")) {
    stmt->expressions.push_back(tuple());
    return stmt;
  }
  stmt->kind = StmtKind::kSetBlock;
  stmt->expressions.push_back(current().is("|") ? filter(nullptr) : nullptr);
  stmt->blocks.push_back(body({"endset"}));
  next();
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_macro() {
  auto stmt = make_stmt(StmtKind::kMacro);
  next();
  auto macro = std::make_unique<MacroDefinition>();
  macro->line = stmt->line;
  macro->name = name_target();
  expect("(");
  while (!current().is(")")) {
    if (!macro->parameters.empty()) expect(",");
    macro->parameters.push_back(name_target());
    if (skip("=")) {
      macro->defaults.push_back(expression());
    } else if (!macro->defaults.empty() && macro->defaults.back() != nullptr) {
      fail("non-default argument follows default argument");
    } else {
      macro->defaults.push_back(nullptr);
    }
  }
  expect(")");
  const int outer_loops = std::exchange(loop_depth_, 0);
  macro->body = body({"endmacro"});
  loop_depth_ = outer_loops;
  next();
  stmt->macro = std::move(macro);
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_with() {
  auto stmt = make_stmt(StmtKind::kWith);
  next();
  while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) {
    if (!stmt->expressions.empty()) expect(",");
    stmt->expressions.push_back(assign_target({}, false));
    expect("=");
    stmt->expressions.push_back(expression());
  }
  stmt->blocks.push_back(body({"endwith"}));
  next();
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_filter_block() {
  auto stmt = make_stmt(StmtKind::kFilterBlock);
  next();
  stmt->expressions.push_back(filter(nullptr, true));
  stmt->blocks.push_back(body({"endfilter"}));
  next();
  return stmt;
}

// transformers' tag around what the assistant said. It only matters for training masks.
std::unique_ptr<Stmt> Parser::parse_generation() {
  auto stmt = make_stmt(StmtKind::kScope);
  next();
  const int outer_loops = std::exchange(loop_depth_, 0);
  stmt->blocks.push_back(body({"endgeneration"}));
  loop_depth_ = outer_loops;
  next();
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_print() {
  auto stmt = make_stmt(StmtKind::kOutput);
  next();
  while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) {
    if (!stmt->expressions.empty()) expect(",");
    stmt->expressions.push_back(expression());
  }
  return stmt;
}

std::unique_ptr<Stmt> Parser::parse_loop_control() {
  if (loop_depth_ == 0) fail(fmt::format("{} outside of a loop", describe(current())));
  auto stmt = make_stmt(current().is_name("break") ? StmtKind::kBreak : StmtKind::kContinue);
  next();
  return stmt;
}

TextPtr Parser::name_target() {
  const int line = current().line;
  ExprPtr target = node(ExprKind::kName, line);
  target->name = make_text(expect_name());
  check_target(*target);
  return target->name;
}

ExprPtr Parser::assign_target(std::string_view stop_name, bool with_namespace) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect(",");
    if (tuple_ends(stop_name)) break;
    items.push_back(primary(with_namespace));
    if (!current().is(",")) break;
    is_tuple = true;
  }
  ExprPtr target = finish_tuple(std::move(items), is_tuple, false, line);
  check_target(*target);
  return target;
}

void Parser::check_target(const Expr& target) const {
  if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : target.children) check_target(*item);
    return;
  }
  const bool reserved = target.kind == ExprKind::kName &&
                        (target.name->bytes == "true" || target.name->bytes == "false" ||
                         target.name->bytes == "none" || target.name->bytes == "True" ||
                         target.name->bytes == "False" || target.name->bytes == "None");
  const bool name = target.kind == ExprKind::kName || target.kind == ExprKind::kNamespaceTarget;
  if (!name || reserved) fail("cannot assign to this expression", target.line);
}

}  // namespace mlxcel::text
