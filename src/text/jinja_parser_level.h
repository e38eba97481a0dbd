// The guard against recursion of the parser, for its two source files.
#pragma once

#include "base/error.h"
#include "text/jinja_parser.h"

namespace mlxcel::text {

// The reference is bounded by Python's own parser: 100 levels of blocks, 200 of parentheses.
constexpr int kMaxParserDepth = 200;

class Parser::Level {
 public:
  explicit Level(Parser& parser) : parser_(parser) {
    if (parser_.level_ >= kMaxParserDepth) {
      throw base::unsupported("{}:{}: the template nests deeper than {} levels", parser_.name_,
                              parser_.current().line, kMaxParserDepth);
    }
    ++parser_.level_;
  }
  ~Level() { --parser_.level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Parser& parser_;
};

}  // namespace mlxcel::text
