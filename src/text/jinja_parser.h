// Jinja source to an unresolved tree. The grammar is that of the reference (jinja2's parser.py);
// tags that no chat template has (include, block, call ...) are refused by name.
#pragma once

#include <string>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace mlxcel::text {

// Throws bad_input or unsupported, with the template's name and the line.
Template parse_template(const std::string& source, const std::string& name);

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}
  Block parse();

 private:
  // Statements: jinja_parser.cpp.
  Block block(std::initializer_list<std::string_view> end_tags);
  Block body(std::initializer_list<std::string_view> end_tags);
  std::unique_ptr<Stmt> statement();
  std::unique_ptr<Stmt> parse_if();
  std::unique_ptr<Stmt> parse_for();
  std::unique_ptr<Stmt> parse_set();
  std::unique_ptr<Stmt> parse_macro();
  std::unique_ptr<Stmt> parse_with();
  std::unique_ptr<Stmt> parse_filter_block();
  std::unique_ptr<Stmt> parse_generation();
  std::unique_ptr<Stmt> parse_print();
  std::unique_ptr<Stmt> parse_loop_control();
  ExprPtr assign_target(std::string_view stop_name, bool with_namespace);
  TextPtr name_target();
  void check_target(const Expr& target) const;

  // Expressions: jinja_expressions.cpp.
  enum class Conditional : uint8_t { kAllowed, kNot };
  ExprPtr tuple(Conditional conditional = Conditional::kAllowed, std::string_view stop_name = {});
  ExprPtr finish_tuple(std::vector<ExprPtr> items, bool is_tuple, bool parenthesized, int line);
  ExprPtr parenthesized();
  ExprPtr expression(Conditional conditional = Conditional::kAllowed);
  ExprPtr conditional_expression();
  ExprPtr or_expression();
  ExprPtr and_expression();
  ExprPtr not_expression();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary(bool with_namespace = false);
  ExprPtr list();
  ExprPtr dict();
  ExprPtr postfix(ExprPtr node);
  ExprPtr filtered(ExprPtr node);
  ExprPtr subscript(ExprPtr node);
  ExprPtr call(ExprPtr callee);
  ExprPtr filter(ExprPtr node, bool first_without_pipe = false);
  ExprPtr test(ExprPtr node);
  void arguments(Expr& call);
  bool tuple_ends(std::string_view stop_name) const;

  // Building blocks.
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool skip(std::string_view op);
  bool skip_name(std::string_view name);
  void expect(std::string_view op);
  void expect(TokenKind kind, std::string_view what);
  std::string expect_name();
  ExprPtr node(ExprKind kind, int line) const;
  ExprPtr node(ExprKind kind, int line, ExprPtr first, ExprPtr second = nullptr) const;
  void adopt(Expr& parent, ExprPtr child) const;
  std::unique_ptr<Stmt> make_stmt(StmtKind kind) const;
  [[noreturn]] void fail(const std::string& message) const { fail(message, current().line); }
  [[noreturn]] void fail(const std::string& message, int line) const;
  [[noreturn]] void refuse(const std::string& what) const;

  // Counts a level of recursion for as long as it lives.
  class Level;

  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  int level_ = 0;       // of expressions in expressions and blocks in blocks
  int loop_depth_ = 0;  // loops around, inside this macro
};

}  // namespace mlxcel::text
