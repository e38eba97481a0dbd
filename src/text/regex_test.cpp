// What patterns of tokenizer files mean in Oniguruma (its doc/RE, Ruby syntax), and what is
// refused.
#include "text/regex.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "text/regex_syntax.h"

namespace mlxcel::text {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const Regex regex = Regex::oniguruma(pattern, "t");
  Regex::Searcher searcher(regex, text);
  std::vector<std::string> found;
  while (const auto match = searcher.next()) {
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(Regex, SpaceIsTheWhiteSpaceProperty) {
  EXPECT_EQ(matches("\\s", "a\u180eb\u2003c\u0085d\u200be"), (Strings{"\u2003", "\u0085"}));
  EXPECT_EQ(matches("[\\s]", "\u180e\u3000"), Strings{"\u3000"});
  EXPECT_EQ(matches("\\S+", "a\u180eb\u2003c"), (Strings{"a\u180eb", "c"}));
  EXPECT_EQ(matches("[\\Sx]+", "a\u180eb\u2003c"), (Strings{"a\u180eb", "c"}));
  EXPECT_EQ(matches("[^\\s]+", "a\u180eb\u2003c"), (Strings{"a\u180eb", "c"}));
}

TEST(Regex, WordCharactersIncludeMarksAndConnectors) {
  EXPECT_EQ(matches("\\w+", "a\u0301b_\u203fc ²½ Ⅳ"), (Strings{"a\u0301b_\u203fc", "Ⅳ"}));
  EXPECT_EQ(matches("\\W+", "a\u0301²½b"), Strings{"²½"});
}

TEST(Regex, LinesAndDots) {
  EXPECT_EQ(matches("^b", "a\nb\nb"), (Strings{"b", "b"}));
  EXPECT_EQ(matches("a$", "a\na"), (Strings{"a", "a"}));
  EXPECT_EQ(matches(".+", "a\rb\nc\u2028d"), (Strings{"a\rb", "c\u2028d"}));
}

TEST(Regex, EscapesOfOneCharacter) {
  EXPECT_EQ(matches("\\v", "\n\x0b\x0c"), Strings{"\x0b"});
  EXPECT_EQ(matches("\\u00e9|\\x{1F600}|\\x41", "Aé😀a"), (Strings{"A", "é", "😀"}));
  EXPECT_EQ(matches("[\\-\\]\\[a]+", "-a][b"), Strings{"-a]["});
  EXPECT_EQ(matches("x{y}{2}", "x{y}}"), Strings{"x{y}}"});
  EXPECT_EQ(matches("[-\\s]+", "a- b"), Strings{"- "});
  EXPECT_EQ(matches("[\\s-]+", "a- b"), Strings{"- "});
}

TEST(Regex, ScriptsDoNotSpreadToSharedCharacters) {
  // U+30FC is of script Common, used with Hiragana and Katakana.
  EXPECT_EQ(matches("\\p{Katakana}+", "カー"), Strings{"カ"});
}

TEST(Regex, EmptyMatchesAreNotRepeatedBehindAMatch) {
  EXPECT_EQ(matches("b*", "abba"), (Strings{"", "bb", ""}));
  EXPECT_EQ(matches("", "é"), (Strings{"", ""}));
}

TEST(Regex, RefusesWhatTheTwoDialectsReadDifferently) {
  for (const std::string_view pattern :
       {"\\h",    "\\bx",        "\\Bx",     "\\R",       "\\X",       "\\K",     "\\G",
        "\\Z",    "\\1",         "\\k<a>",   "(?m:a.b)",  "(?x:a b)",  "(?<n>a)", "(?#c)",
        "(?1)",   "(?R)",        "(?C1)",    "(*ACCEPT)", "(?(1)a|b)", "a{2}+",   "a{,3}",
        "[a[b]]", "[[:alpha:]]", "[a&&b]",   "[]a]",      "[^]a]",     "[+-\\s]", "[\\s-a]",
        "[\\W]",  "\\x80",       "\\xff",    "\\x4",      "\\u12",     "\\p",     "\\pL",
        "\\p{}",  "\\p{L",       "\\p{a b}", "\\N",       "\\Q",       "\\c",     "a\\",
        "[a"}) {
    EXPECT_THROW(oniguruma_to_pcre2(pattern, "t"), base::Error) << pattern;
  }
}

TEST(Regex, LiteralsMatchThemselves) {
  const std::string text = "a.b*(é)\\E[\n#";
  const Regex regex = Regex::literal(text, "t");
  Regex::Searcher searcher(regex, text);
  const auto match = searcher.next();
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->end - match->begin, text.size());
  EXPECT_FALSE(searcher.next().has_value());
}

}  // namespace
}  // namespace mlxcel::text
