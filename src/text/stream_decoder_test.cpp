#include "text/stream_decoder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace mlxcel::text {
namespace {

const std::filesystem::path kFixtures =
    std::filesystem::path(MLXCEL_SOURCE_DIR) / "tests/fixtures/tokenizer";

Tokenizer qwen() { return Tokenizer::load(kFixtures / "qwen"); }

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                     SpecialTokens special) {
  StreamDecoder decoder(tokenizer, special);
  std::string text;
  for (const int32_t id : ids) {
    const std::string delta = decoder.push(id);
    EXPECT_TRUE(base::is_valid_utf8(delta));
    text += delta;
  }
  return text + decoder.flush();
}

TEST(StreamDecoder, PiecesEqualTheReferenceText) {
  const auto tokenizer = qwen();
  const auto fixture =
      nlohmann::json::parse(base::read_file(kFixtures / "qwen/cases.json", size_t{64} << 20));
  for (const auto& row : fixture.at("cases")) {
    const auto ids = row.at("ids").get<std::vector<int32_t>>();
    EXPECT_EQ(streamed(tokenizer, ids, SpecialTokens::kSkip), row.at("decoded").get<std::string>());
    EXPECT_EQ(streamed(tokenizer, ids, SpecialTokens::kKeep),
              row.at("decoded_all").get<std::string>());
  }
}

// What a random model would say: bytes in any order.
TEST(StreamDecoder, PiecesOfRandomTokensEqualTheRepairedWhole) {
  const auto tokenizer = qwen();
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<int32_t> ids(random() % 40);
    std::string bytes;
    for (int32_t& id : ids) {
      id = static_cast<int32_t>(
          random() % (round % 2 == 0 ? 256U : static_cast<unsigned>(tokenizer.vocab_size())));
      bytes += tokenizer.token_bytes(id);
    }
    EXPECT_EQ(streamed(tokenizer, ids, SpecialTokens::kKeep), base::repair_utf8(bytes));
  }
}

TEST(StreamDecoder, AnEmojiComesWhole) {
  const auto tokenizer = qwen();
  const auto plain = [&](std::string_view spelling) { return tokenizer.find(spelling).value(); };
  StreamDecoder decoder(tokenizer);  // U+1F600 is F0 9F 98 80
  EXPECT_EQ(decoder.push(plain("ð")), "");
  EXPECT_EQ(decoder.push(plain("Ł")), "");
  EXPECT_EQ(decoder.push(plain("ĺ")), "");
  EXPECT_EQ(decoder.push(plain("Ģ")), "😀");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, AnUnfinishedCharacterIsRepairedAtTheEndOnly) {
  const auto tokenizer = qwen();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(tokenizer.find("a").value()), "a");
  EXPECT_EQ(decoder.push(tokenizer.find("ð").value()), "");
  // A special token in between is skipped and finishes nothing.
  EXPECT_EQ(decoder.push(tokenizer.find("<|im_end|>").value()), "");
  EXPECT_EQ(decoder.flush(), "\uFFFD");
  EXPECT_EQ(decoder.flush(), "");
  EXPECT_EQ(decoder.push(tokenizer.find("b").value()), "b");
}

TEST(StreamDecoder, BadIdsLeaveItAsItWas) {
  const auto tokenizer = qwen();
  StreamDecoder decoder(tokenizer);
  decoder.push(tokenizer.find("Ã").value());
  EXPECT_THROW(decoder.push(-1), base::Error);
  EXPECT_THROW(decoder.push(tokenizer.vocab_size()), base::Error);
  EXPECT_EQ(decoder.push(tokenizer.find("©").value()), "é");
}

}  // namespace
}  // namespace mlxcel::text
