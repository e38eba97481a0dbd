// The parser against a table of its own, so that these tests do not change with the program's
// flags.
#include "cli/flag_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mlxcel::cli {
namespace {

std::vector<Flag> flags() {
  return {{.name = "--image", .placeholder = "FILE", .type = PathValue{}, .repeatable = true},
          {.name = "--text", .short_name = "-t", .placeholder = "TEXT", .type = TextValue{}},
          {.name = "--count",
           .short_name = "-n",
           .placeholder = "N",
           .type = IntegerValue{.min = -5, .max = 100},
           .default_text = "7"},
          {.name = "--temp",
           .placeholder = "T",
           .type = NumberValue{.min = 0, .max = 2},
           .default_text = "0.5"},
          {.name = "--kind",
           .placeholder = "KIND",
           .type = ChoiceValue{{"red", "blue"}},
           .default_text = "red"},
          {.name = "--verbose", .short_name = "-v", .excludes = "--quiet"},
          {.name = "--quiet", .short_name = "-q"},
          {.name = "--help", .short_name = "-h"}};
}

FlagValues parse(const std::vector<std::string>& arguments) {
  return parse_flags("paint", flags(), {}, arguments);
}

std::string error_of(const std::vector<std::string>& arguments,
                     const std::vector<Flag>& declared = flags(),
                     const std::vector<Flag>& positionals = {}) {
  try {
    parse_flags("paint", declared, positionals, arguments);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(ParseFlags, DefaultsWhenNothingIsGiven) {
  const FlagValues values = parse({});
  EXPECT_EQ(values.integer("--count"), 7);
  EXPECT_EQ(values.number("--temp"), 0.5);
  EXPECT_EQ(values.text("--kind"), "red");
  EXPECT_TRUE(values.all("--image").empty());
  EXPECT_FALSE(values.on("--verbose"));
  EXPECT_FALSE(values.has("--count"));
  EXPECT_TRUE(values.given().empty());
  EXPECT_FALSE(values.wants_help());
}

TEST(ParseFlags, EveryWayToWriteAValue) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--count", "5"}, {"--count=5"}, {"-n", "5"}, {"-n5"}, {"-n=5"}}) {
    EXPECT_EQ(parse(arguments).integer("--count"), 5) << arguments.front();
  }
}

TEST(ParseFlags, KeepsWhatWasGivenInTableOrder) {
  const FlagValues values = parse({"-v", "--image", "b", "--count=7", "--image=a"});
  EXPECT_EQ(values.all("--image"), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(values.given(), (std::vector<std::string_view>{"--image", "--count", "--verbose"}));
  EXPECT_TRUE(values.has("--count"));  // also when it equals the default
}

TEST(ParseFlags, JoinedShortFlags) {
  EXPECT_TRUE(parse({"-vn5"}).on("--verbose"));
  EXPECT_EQ(parse({"-vn5"}).integer("--count"), 5);
  EXPECT_EQ(parse({"-vn", "5"}).integer("--count"), 5);
  EXPECT_EQ(error_of({"-vx"}),
            "unknown flag '-vx' for paint; 'mlxcel paint --help' lists its flags");
}

TEST(ParseFlags, ValuesThatBeginWithADash) {
  EXPECT_EQ(parse({"--count", "-5"}).integer("--count"), -5);
  EXPECT_EQ(parse({"-n-5"}).integer("--count"), -5);
  EXPECT_EQ(parse({"-t", "-"}).text("--text"), "-");
  EXPECT_EQ(parse({"-t", "- one\n- two"}).text("--text"), "- one\n- two");
  EXPECT_EQ(parse({"--text=--image"}).text("--text"), "--image");
  EXPECT_EQ(parse({"--text=a=b"}).text("--text"), "a=b");
}

TEST(ParseFlags, AForgottenValueIsNotTheNextFlag) {
  EXPECT_EQ(error_of({"--text", "--image", "x"}),
            "paint: --text has no value: found '--image', expected UTF-8 text that is not empty");
  EXPECT_EQ(error_of({"--text", "--image=x"}),
            "paint: --text has no value: found '--image=x', expected UTF-8 text that is not empty");
  EXPECT_EQ(error_of({"-n", "-v"}),
            "paint: --count has no value: found '-v', expected an integer from -5 to 100");
  EXPECT_EQ(error_of({"-n", "--", "5"}),
            "paint: --count has no value: found '--', expected an integer from -5 to 100");
  EXPECT_EQ(error_of({"-n"}), "paint: --count has no value, expected an integer from -5 to 100");
}

TEST(ParseFlags, WrongValues) {
  for (const char* value : {"", "x", "101", "-6", "5.0", "1e1", "99999999999999999999", "0x5"}) {
    EXPECT_EQ(error_of({"--count", value}),
              "paint: --count is '" + std::string(value) + "', expected an integer from -5 to 100");
  }
  for (const char* value : {"", "x", "nan", "inf", "-inf", "-0.1", "2.1", "1e999", "0,5"}) {
    EXPECT_EQ(error_of({"--temp", value}),
              "paint: --temp is '" + std::string(value) + "', expected a number from 0 to 2");
  }
  EXPECT_EQ(error_of({"--kind=green"}), "paint: --kind is 'green', expected one of red, blue");
  EXPECT_EQ(error_of({"--image", ""}), "paint: --image is '', expected a path");
  EXPECT_EQ(error_of({"--text=\xc3"}),
            "paint: --text is '\xef\xbf\xbd', expected UTF-8 text that is not empty");
  EXPECT_EQ(error_of({"--verbose=1"}), "paint: --verbose is '1', expected no value");
  EXPECT_EQ(error_of({"-v=1"}), "paint: --verbose is '1', expected no value");
}

TEST(ParseFlags, UnknownFlagsNameTheNearest) {
  EXPECT_EQ(error_of({"--imgae", "x"}),
            "unknown flag '--imgae' for paint; did you mean '--image'?");
  EXPECT_EQ(error_of({"--imgae=x"}), "unknown flag '--imgae' for paint; did you mean '--image'?");
  EXPECT_EQ(error_of({"-text", "x"}), "unknown flag '-text' for paint; did you mean '--text'?");
  EXPECT_EQ(error_of({"--zzz"}),
            "unknown flag '--zzz' for paint; 'mlxcel paint --help' lists its flags");
  EXPECT_EQ(error_of({"--a\nb"}),
            "unknown flag '--a\\nb' for paint; 'mlxcel paint --help' lists its flags");
  EXPECT_EQ(error_of({"---"}),
            "unknown flag '---' for paint; 'mlxcel paint --help' lists its flags");
}

TEST(ParseFlags, Repetition) {
  EXPECT_EQ(error_of({"-n", "1", "--count=1"}), "paint: --count is given twice, expected once");
  EXPECT_EQ(error_of({"-vv"}), "paint: --verbose is given twice, expected once");
}

TEST(ParseFlags, Exclusion) {
  EXPECT_EQ(error_of({"-q", "-v"}),
            "paint: --verbose and --quiet are both given, expected one of them");
  EXPECT_EQ(error_of({"-vq"}), "paint: --verbose and --quiet are both given, expected one of them");
}

TEST(ParseFlags, RequiredFlagsAndPositionals) {
  std::vector<Flag> required = flags();
  required[1].required = true;
  EXPECT_EQ(error_of({}, required), "paint: --text is missing, expected --text TEXT");

  const std::vector<Flag> colour = {
      {.name = "COLOUR", .type = ChoiceValue{{"red", "-1"}}, .required = true}};
  EXPECT_EQ(error_of({}, flags(), colour), "paint: COLOUR is missing, expected one of red, -1");
  EXPECT_EQ(error_of({"blue"}, flags(), colour),
            "paint: COLOUR is 'blue', expected one of red, -1");
  EXPECT_EQ(error_of({"red", "red"}, flags(), colour),
            "paint: unexpected argument 'red', expected nothing after COLOUR");
  EXPECT_EQ(parse_flags("paint", flags(), colour, {"-v", "red", "-n5"}).text("COLOUR"), "red");
  EXPECT_EQ(parse_flags("paint", flags(), colour, {"-v", "--", "-1"}).text("COLOUR"), "-1");
}

TEST(ParseFlags, StrayArguments) {
  const std::string expected = ", expected flags only (a value follows its flag, --flag VALUE)";
  EXPECT_EQ(error_of({"cat.jpg"}), "paint: unexpected argument 'cat.jpg'" + expected);
  EXPECT_EQ(error_of({""}), "paint: unexpected argument ''" + expected);
  EXPECT_EQ(error_of({"-"}), "paint: unexpected argument '-'" + expected);
  EXPECT_EQ(error_of({"--", "--verbose"}), "paint: unexpected argument '--verbose'" + expected);
}

TEST(ParseFlags, HelpWinsOverErrors) {
  EXPECT_TRUE(parse({"--help"}).wants_help());
  EXPECT_TRUE(parse({"--nonsense", "-n", "-h"}).wants_help());
  EXPECT_TRUE(parse({"-vh"}).wants_help());
  std::vector<Flag> required = flags();
  required[1].required = true;
  EXPECT_TRUE(parse_flags("paint", required, {}, {"-h"}).wants_help());
  EXPECT_TRUE(parse_flags("paint", required, {}, {"-vh"}).wants_help());
  EXPECT_FALSE(parse({"--text=--help"}).wants_help());
  error_of({"--", "--help"});
}

TEST(FlagValues, AWrongGetterIsAnInternalError) {
  const FlagValues values = parse({"-t", "x"});
  const auto kind_of = [](auto&& read) {
    try {
      read();
    } catch (const base::Error& error) {
      return error.kind();
    }
    return base::ErrorKind::kBadInput;
  };
  using base::ErrorKind;
  EXPECT_EQ(kind_of([&] { values.has("--nothing"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.integer("--temp"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.number("--count"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.text("--count"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.on("--text"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.all("--verbose"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { values.text("--image"); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_of([&] { parse({}).text("--text"); }), ErrorKind::kInternal);
}

}  // namespace
}  // namespace mlxcel::cli
