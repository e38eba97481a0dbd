#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/testing.h"
#include "base/thread_pool.h"
#include "base/utf8.h"

namespace mlxcel::base {
namespace {

TEST(Dtype, HalfConversionsRoundTripEveryBitPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(f16_to_f32(half))) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(half)))));
    } else {
      EXPECT_EQ(f32_to_f16(f16_to_f32(half)), half);
    }
    if (std::isnan(bf16_to_f32(half))) continue;
    EXPECT_EQ(f32_to_bf16(bf16_to_f32(half)), half);
  }
}

TEST(Dtype, NarrowingRoundsHalfToEven) {
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(f32_to_f16(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0);
  EXPECT_EQ(f32_to_f16(0x1.8p-25F), 1);
}

TEST(Json, ErrorsNameFileFieldFoundAndExpected) {
  const Json document =
      parse_json(R"({"a":{"b":"x","n":2.5,"big":18446744073709551615}})", "c.json");
  const JsonField root(document, "c.json");
  EXPECT_EQ(message_of([&] { root.at("a").at("b").as_int(); }),
            "c.json: 'a.b' is \"x\", expected an integer");
  EXPECT_EQ(message_of([&] { root.at("a").at("n").as_int(); }),
            "c.json: 'a.n' is 2.5, expected an integer");
  EXPECT_EQ(message_of([&] { root.at("a").int_at("big", 1, 9); }),
            "c.json: 'a.big' is 18446744073709551615, expected an integer from 1 to 9");
  EXPECT_EQ(message_of([&] { root.at("a").at("z"); }), "c.json: field 'a.z' is missing");
}

TEST(Json, RefusesDeepNestingAndBadText) {
  EXPECT_EQ(message_of([] { parse_json(std::string(100000, '['), "d.json"); }),
            "d.json: nested deeper than 200 levels");
  EXPECT_EQ(message_of([] { parse_json("{\"a\":", "d.json"); }),
            "d.json: not valid JSON near byte 6");
}

TEST(MappedFile, NamesWhatIsWrong) {
  EXPECT_EQ(message_of([] { MappedFile::open("/nowhere/x"); }), "/nowhere/x: no such file");
  EXPECT_EQ(message_of([] { MappedFile::open("/tmp"); }), "/tmp: not a regular file");
}

TEST(ThreadPool, EachTaskRunsOnceForEveryThreadCount) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    for (size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      pool.run(count, [&](size_t i) { calls[i].fetch_add(1); });
      for (const auto& c : calls) EXPECT_EQ(c.load(), 1);
    }
  }
}

TEST(ThreadPool, ServesManyShortJobsFromSeveralCallers) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) pool.run(4, [&](size_t) { total.fetch_add(1); });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 3 * 500 * 4);
}

TEST(Utf8, HoldsBackOnlyAnIncompleteTail) {
  const std::string smile = "\xF0\x9F\x98\x80";
  for (size_t cut = 1; cut < 4; ++cut) {
    EXPECT_EQ(complete_utf8_prefix("ab" + smile.substr(0, cut)), 2U);
  }
  EXPECT_EQ(complete_utf8_prefix("ab" + smile), 6U);
  EXPECT_EQ(complete_utf8_prefix("ab\x80"), 3U);
  EXPECT_EQ(complete_utf8_prefix("ab\xFF"), 3U);
  EXPECT_EQ(complete_utf8_prefix(""), 0U);
}

TEST(Utf8, RepairsAsUnicodeRecommends) {
  EXPECT_EQ(repair_utf8("a\xE0\x80z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(repair_utf8("a\xF0\x9F\x98z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(repair_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(is_valid_utf8("\xED\x9F\xBF"));
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));
}

}  // namespace
}  // namespace mlxcel::base
