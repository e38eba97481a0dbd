// What is a value, and how messages speak: the bounds at their very edges.
#include "cli/flag.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mlxcel::cli {
namespace {

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "9223372036854775808", "-",
                           "--1", "1\n", "nan"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
}

TEST(ParseNumber, TakesFiniteDecimalNotation) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("-1e-3"), -1e-3);
  EXPECT_EQ(parse_number(".25"), 0.25);
  EXPECT_EQ(parse_number("2."), 2.0);
  EXPECT_EQ(parse_number("1e+2"), 100.0);
  for (const char* text : {"", " 1", "1 ", "+1", "nan", "NaN", "inf", "-inf", "infinity", "1e999",
                           "-1e999", "0x1p3", "1,5", "1.2.3", "e", "-", ".", "1e"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(Accepts, BoundsAreInclusiveUnlessSaid) {
  const ValueType integer = IntegerValue{.min = 1, .max = 10};
  EXPECT_TRUE(accepts(integer, "1"));
  EXPECT_TRUE(accepts(integer, "10"));
  EXPECT_FALSE(accepts(integer, "0"));
  EXPECT_FALSE(accepts(integer, "11"));

  const ValueType closed = NumberValue{.min = 0, .max = 1};
  EXPECT_TRUE(accepts(closed, "0"));
  EXPECT_TRUE(accepts(closed, "1"));
  EXPECT_FALSE(accepts(closed, "-0.0001"));
  EXPECT_FALSE(accepts(closed, "1.0001"));

  const ValueType open = NumberValue{.min = 0, .max = 1, .above_min = true};
  EXPECT_FALSE(accepts(open, "0"));
  EXPECT_FALSE(accepts(open, "1e-999"));  // underflows to 0
  EXPECT_TRUE(accepts(open, "1e-9"));
  EXPECT_TRUE(accepts(open, "1"));
}

TEST(Accepts, TextPathAndChoice) {
  EXPECT_TRUE(accepts(TextValue{}, "ü"));
  EXPECT_FALSE(accepts(TextValue{}, ""));
  EXPECT_TRUE(accepts(TextValue{.may_be_empty = true}, ""));
  EXPECT_FALSE(accepts(TextValue{}, "\xff"));
  EXPECT_TRUE(accepts(PathValue{}, "\xff"));  // file names are bytes
  EXPECT_FALSE(accepts(PathValue{}, ""));
  EXPECT_TRUE(accepts(ChoiceValue{{"a", "b"}}, "b"));
  EXPECT_FALSE(accepts(ChoiceValue{{"a", "b"}}, "B"));
  EXPECT_FALSE(accepts(SwitchValue{}, "yes"));
}

TEST(DescribeExpected, NamesTheBounds) {
  EXPECT_EQ(describe_expected(IntegerValue{.min = 1, .max = 9}), "an integer from 1 to 9");
  EXPECT_EQ(describe_expected(NumberValue{.min = -2, .max = 2}), "a number from -2 to 2");
  EXPECT_EQ(describe_expected(NumberValue{.min = 0, .max = 1, .above_min = true}),
            "a number above 0 and at most 1");
  EXPECT_EQ(describe_expected(ChoiceValue{{"f32", "bf16"}}), "one of f32, bf16");
}

TEST(ForMessage, StaysOnOnePrintableLine) {
  EXPECT_EQ(for_message("plain"), "'plain'");
  EXPECT_EQ(for_message("a\nb\x1b[2J\x7f"), "'a\\nb\\x1b[2J\\x7f'");
  EXPECT_EQ(for_message("\xff"), "'\xef\xbf\xbd'");
  const std::string line = for_message(std::string(10'000, 'x'));
  EXPECT_LT(line.size(), 80u);
  EXPECT_TRUE(line.ends_with("...'"));
  // A cut never leaves half a character: 59 bytes, then a character of two.
  EXPECT_EQ(for_message(std::string(59, 'x') + "üüüü"), "'" + std::string(59, 'x') + "...'");
}

TEST(NearestName, FindsTypingErrorsAndStarts) {
  const std::vector<std::string_view> names = {"--image", "--max-tokens", "--temp",  "--top-p",
                                               "--stop",  "--json",       "--prompt"};
  EXPECT_EQ(nearest_name("--imgae", names), "--image");
  EXPECT_EQ(nearest_name("--images", names), "--image");
  EXPECT_EQ(nearest_name("-image", names), "--image");
  EXPECT_EQ(nearest_name("--max_tokens", names), "--max-tokens");
  EXPECT_EQ(nearest_name("--max-new-tokens", names), "--max-tokens");
  EXPECT_EQ(nearest_name("--temperature", names), "--temp");
  EXPECT_EQ(nearest_name("--promt", names), "--prompt");
  EXPECT_EQ(nearest_name("--JSON", {}), "");
  EXPECT_EQ(nearest_name("--xyzzy", names), "");
  EXPECT_EQ(nearest_name("--", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("--image" + std::string(1'000'000, 'e'), names), "");
}

TEST(CheckTable, FindsContradictions) {
  const Flag good = {.name = "--count",
                     .short_name = "-c",
                     .placeholder = "N",
                     .type = IntegerValue{.min = 1, .max = 9},
                     .default_text = "3",
                     .group = "G",
                     .help = "How many"};
  EXPECT_NO_THROW(check_table({good}, {}));
  const auto broken = [&](auto&& change) {
    Flag flag = good;
    change(flag);
    return std::vector<Flag>{flag};
  };
  EXPECT_THROW(check_table({good, good}, {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.default_text = "10"; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.default_text = "x"; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.placeholder = ""; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.type = SwitchValue{}; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.name = "count"; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.help = "Full stop."; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.group = ""; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.required = true; }), {}), base::Error);
  EXPECT_THROW(check_table(broken([](Flag& f) { f.excludes = "--no"; }), {}), base::Error);
  EXPECT_THROW(check_table({}, {good}), base::Error);  // a flag is no positional argument
}

}  // namespace
}  // namespace mlxcel::cli
