#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace mlxcel::text {
namespace {

struct Result {
  std::string text;
  bool stopped = false;
  friend bool operator==(const Result&, const Result&) = default;
};

Result run(const std::vector<std::string>& stops, const std::vector<std::string>& deltas) {
  StopMatcher matcher(stops);
  Result result;
  for (const auto& delta : deltas) {
    const auto step = matcher.push(delta);
    result.text += step.text;
    result.stopped = step.stopped;
    if (step.stopped) break;
  }
  result.text += matcher.flush();
  return result;
}

// The rule in the plainest form: the shortest prefix of the text that ends with a stop string.
Result by_definition(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops) {
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  return bytes;
}

TEST(StopMatcher, WithoutStopStringsNothingIsHeld) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.push("abc").text, "abc");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, HoldsBackWhatCouldBegin) {
  StopMatcher matcher({"###", "\nUser:"});
  EXPECT_EQ(matcher.push("Hello #").text, "Hello ");
  EXPECT_EQ(matcher.push("1, ##").text, "#1, ");
  EXPECT_EQ(matcher.push("2\n").text, "##2");
  EXPECT_EQ(matcher.push("Use").text, "");
  EXPECT_EQ(matcher.push("s").text, "\nUses");
  const auto last = matcher.push("!####");
  EXPECT_EQ(last.text, "!");
  EXPECT_TRUE(last.stopped);
  EXPECT_EQ(matcher.flush(), "");
  EXPECT_EQ(matcher.push("more").text, "");
  EXPECT_TRUE(matcher.push("more").stopped);
}

TEST(StopMatcher, ReleasesTheLeastPossible) {
  StopMatcher matcher({"aab"});
  EXPECT_EQ(matcher.push("aaa").text, "a");  // the last two may still begin it
  const auto step = matcher.push("b");
  EXPECT_EQ(step.text, "");
  EXPECT_TRUE(step.stopped);
}

TEST(StopMatcher, FlushGivesTheHeldText) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(matcher.push("a<en").text, "a");
  EXPECT_EQ(matcher.flush(), "<en");
  EXPECT_EQ(matcher.flush(), "");
  EXPECT_FALSE(matcher.push("d>").stopped);  // what was given away begins nothing
}

TEST(StopMatcher, OfSeveralTheFirstToBeCompleteCounts) {
  const std::vector<std::string> stops = {"abcd", "bc"};
  EXPECT_EQ(run(stops, {"xabcd"}), (Result{"xa", true}));
  EXPECT_EQ(run(stops, bytes_of("xabcd")), (Result{"xa", true}));
  EXPECT_EQ(run({"cd", "abcd"}, {"xabcd"}), (Result{"x", true}));  // both end there: the longest
  EXPECT_EQ(run({"abcd", "cd"}, bytes_of("xabcd")), (Result{"x", true}));
  EXPECT_EQ(run({"a", "ab"}, {"ab"}), (Result{"", true}));
}

TEST(StopMatcher, CharactersOfSeveralBytesSplitAnywhere) {
  EXPECT_EQ(run({"。終"}, bytes_of("日本。終わり")), (Result{"日本", true}));
  EXPECT_EQ(run({"😀"}, bytes_of("a😁b😀c")), (Result{"a😁b", true}));
  // 😁 and 😀 differ in the last byte only; nothing that is passed on ends inside one.
  StopMatcher matcher({"😀"});
  EXPECT_EQ(matcher.push("x😁").text, "x😁");
}

TEST(StopMatcher, RandomTextsCutAtRandomAreAsDefined) {
  std::mt19937 random(11);
  const auto word = [&](size_t most) {
    std::string text(1 + random() % most, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  int stopped = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops(1 + random() % 4);
    for (auto& stop : stops) stop = word(7);
    const std::string text = word(30);
    std::vector<std::string> deltas;
    for (size_t at = 0; at < text.size(); at += deltas.back().size())
      deltas.push_back(text.substr(at, 1 + random() % 5));
    const Result expected = by_definition(stops, text);
    ASSERT_EQ(run(stops, deltas), expected) << text;
    stopped += expected.stopped ? 1 : 0;
  }
  EXPECT_GT(stopped, 500);
  EXPECT_LT(stopped, 4990);
}

TEST(StopMatcher, LongStopStringsAreLinear) {
  const std::string stop = std::string(20'000, 'a') + "b";
  EXPECT_EQ(run({stop}, bytes_of(std::string(200'000, 'a'))),
            (Result{std::string(200'000, 'a'), false}));
}

TEST(StopMatcher, RefusesStopStringsWithoutMeaning) {
  EXPECT_THROW(StopMatcher({""}), base::Error);
  EXPECT_THROW(StopMatcher({"ok", "\xff"}), base::Error);
}

}  // namespace
}  // namespace mlxcel::text
