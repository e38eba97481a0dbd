// Template source to tokens, with the white space rules of Jinja: trim_blocks and lstrip_blocks are
// on, `-` and `+` in a tag override them, one newline at the end of the source is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlxcel::text {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,  // `text` is unescaped
  kInteger,
  kFloat,
  kOperator,  // `text` is the operator
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;
  int64_t integer = 0;
  double real = 0.0;

  bool is(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// The tokens, closed by one kEnd. `source` is valid UTF-8; `name` opens the message of an error.
std::vector<Token> tokenize(const std::string& source, const std::string& name);

// How a token is called in a message.
std::string describe(const Token& token);

}  // namespace mlxcel::text
