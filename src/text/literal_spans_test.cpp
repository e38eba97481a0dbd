#include "text/literal_spans.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/utf8.h"

namespace mlxcel::text {
namespace {

using Spans = std::vector<ByteSpan>;

TEST(LiteralSpans, SortedMergedAndWithoutEmptyOnes) {
  EXPECT_EQ(LiteralSpans(Spans{{5, 7}, {0, 2}, {1, 3}, {4, 4}, {3, 4}}, 9).spans(),
            (Spans{{0, 4}, {5, 7}}));
  EXPECT_THROW(LiteralSpans(Spans{{0, 10}}, 9), base::Error);
  EXPECT_THROW(LiteralSpans(Spans{{3, 2}}, 9), base::Error);
}

TEST(LiteralSpans, OverlapAndPartsAreCountedByteByByte) {
  const size_t size = 12;
  const Spans given = {{1, 3}, {5, 6}, {8, 12}};
  const LiteralSpans spans(given, size);
  for (size_t begin = 0; begin <= size; ++begin) {
    for (size_t end = begin; end <= size; ++end) {
      bool expected = false;
      std::vector<bool> bytes(end - begin);
      for (size_t i = begin; i < end; ++i) {
        for (const auto& span : given)
          bytes[i - begin] = bytes[i - begin] || (i >= span.begin && i < span.end);
        expected = expected || bytes[i - begin];
      }
      if (begin < end) {
        EXPECT_EQ(spans.overlap(begin, end), expected) << begin << " " << end;
      }
      std::vector<bool> within(end - begin);
      const LiteralSpans part = spans.within(begin, end);
      for (const auto& span : part.spans()) {
        for (size_t i = span.begin; i < span.end; ++i) within.at(i) = true;
      }
      EXPECT_EQ(within, bytes) << begin << " " << end;
    }
  }
}

TEST(RepairMarked, TheTextIsAsRepairedWhole) {
  std::mt19937 random(3);
  const std::string alphabet = "a\x80\xbf\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\xed\xa0\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    Spans spans;
    for (unsigned i = random() % 4; i > 0; --i) {
      const size_t begin = random() % (text.size() + 1);
      spans.push_back({begin, begin + random() % (text.size() + 1 - begin)});
    }
    const auto repaired = repair_marked(text, spans);
    EXPECT_EQ(repaired.text, base::repair_utf8(text));
    EXPECT_EQ(repaired.literal.empty(), LiteralSpans(spans, text.size()).empty());
  }
}

TEST(RepairMarked, MarksMoveWithTheirBytesAndCoverWholeCharacters) {
  EXPECT_EQ(repair_marked("\xff"
                          "ab",
                          Spans{{1, 2}})
                .literal.spans(),
            (Spans{{3, 4}}));
  EXPECT_EQ(repair_marked("a\xff"
                          "b",
                          Spans{{1, 2}})
                .literal.spans(),
            (Spans{{1, 4}}));
  EXPECT_EQ(repair_marked("aéb", Spans{{2, 3}}).literal.spans(), (Spans{{1, 3}}));
  EXPECT_EQ(repair_marked("aéb", Spans{{1, 2}}).literal.spans(), (Spans{{1, 3}}));
}

}  // namespace
}  // namespace mlxcel::text
