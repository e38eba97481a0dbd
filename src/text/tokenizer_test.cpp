// Against ids that the Hugging Face `tokenizers` library gave
// (tools/fixtures/make_tokenizer_cases.py).
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace mlxcel::text {
namespace {

const std::filesystem::path kFixtures =
    std::filesystem::path(MLXCEL_SOURCE_DIR) / "tests/fixtures/tokenizer";

// Fixtures are our own, and wide objects are slow in the ordered kind of document.
nlohmann::json read_fixture(const std::string& name) {
  return nlohmann::json::parse(base::read_file(kFixtures / name, size_t{64} << 20));
}

Tokenizer qwen() { return Tokenizer::load(kFixtures / "qwen"); }

std::vector<int32_t> ids_of(const nlohmann::json& row) {
  return row.at("ids").get<std::vector<int32_t>>();
}
std::string text_of(const nlohmann::json& row) { return row.at("text").get<std::string>(); }

void expect_cases(const Tokenizer& tokenizer, const nlohmann::json& cases, size_t at_least) {
  ASSERT_GE(cases.size(), at_least);
  for (const auto& row : cases) {
    SCOPED_TRACE(row.at("text").dump(-1, ' ', true));
    EXPECT_EQ(tokenizer.encode(text_of(row)), ids_of(row));
    if (!row.contains("decoded")) continue;
    EXPECT_EQ(tokenizer.decode(ids_of(row)), row.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids_of(row), SpecialTokens::kKeep),
              row.at("decoded_all").get<std::string>());
  }
}

// The Qwen-style document with some of its members replaced.
Tokenizer variant(const nlohmann::json& changes) {
  nlohmann::json document = read_fixture("qwen/tokenizer.json");
  for (const auto* key : {"pre_tokenizer", "normalizer"}) document[key] = changes.at(key);
  document["added_tokens"] = changes.value("added_tokens", nlohmann::json::array());
  document["model"]["ignore_merges"] = changes.value("ignore_merges", false);
  if (changes.contains("extra_token")) {
    auto& vocab = document["model"]["vocab"];
    vocab[changes["extra_token"].get<std::string>()] = vocab.size();
  }
  return Tokenizer::from_json(document.dump(), "tokenizer.json");
}

TEST(Tokenizer, QwenStyleEqualsReference) {
  expect_cases(qwen(), read_fixture("qwen/cases.json").at("cases"), 250);
}

TEST(Tokenizer, VocabAndMergesFilesEqualReference) {
  expect_cases(Tokenizer::load(kFixtures / "qwen_files"),
               read_fixture("qwen/cases.json").at("cases"), 250);
}

TEST(Tokenizer, MergesAsPairsOrStrings) {
  nlohmann::json document = read_fixture("qwen/tokenizer.json");
  auto& merges = document["model"]["merges"];
  ASSERT_TRUE(merges.at(0).is_array());
  for (auto& merge : merges)
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  expect_cases(Tokenizer::from_json(document.dump(), "t"),
               read_fixture("qwen/cases.json").at("cases"), 250);
}

TEST(Tokenizer, Gpt2StyleEqualsReference) {
  const auto fixture = read_fixture("gpt2.json");
  expect_cases(variant(fixture), fixture.at("cases"), 250);
}

TEST(Tokenizer, AddedTokenFlagsEqualReference) {
  const auto fixture = read_fixture("added_flags.json");
  expect_cases(variant(fixture), fixture.at("cases"), 140);
}

TEST(Tokenizer, OtherPreTokenizersAndNormalizersEqualReference) {
  const auto variants = read_fixture("variants.json").at("variants");
  ASSERT_GE(variants.size(), 35U);
  for (const auto& row : variants) {
    SCOPED_TRACE(row.at("name").get<std::string>());
    expect_cases(variant(row), row.at("cases"), 4);
  }
}

TEST(Tokenizer, LiteralTextHasNoSpecialTokens) {
  const auto tokenizer = qwen();
  const auto rows = read_fixture("qwen/literal.json").at("whole");
  ASSERT_GE(rows.size(), 30U);
  for (const auto& row : rows) {
    const std::string text = text_of(row);
    SCOPED_TRACE(row.at("text").dump(-1, ' ', true));
    EXPECT_EQ(tokenizer.encode(text, std::vector<ByteSpan>{{0, text.size()}}), ids_of(row));
  }
}

TEST(Tokenizer, LiteralPartsAreTokenizedAcrossTheirBorders) {
  const auto tokenizer = qwen();
  const auto rows = read_fixture("qwen/literal.json").at("parts");
  ASSERT_GE(rows.size(), 40U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("text").dump(-1, ' ', true));
    const std::vector<ByteSpan> user = {
        {row.at("begin").get<size_t>(), row.at("end").get<size_t>()}};
    EXPECT_EQ(tokenizer.encode(text_of(row), user), ids_of(row));
  }
}

TEST(Tokenizer, LiteralSpansWithoutSpecialTokensChangeNothing) {
  const auto tokenizer = qwen();
  const auto rows = read_fixture("qwen/cases.json").at("cases");
  ASSERT_GE(rows.size(), 250U);
  for (const auto& row : rows) {
    const std::string text = text_of(row);
    if (text.find('<') != std::string::npos) continue;
    std::vector<ByteSpan> every_other_byte;
    for (size_t i = 0; i < text.size(); i += 2) every_other_byte.push_back({i, i + 1});
    EXPECT_EQ(tokenizer.encode(text, every_other_byte), ids_of(row))
        << row.at("text").dump(-1, ' ', true);
  }
}

TEST(Tokenizer, OneLiteralByteIsEnoughToBreakASpecialToken) {
  const auto tokenizer = qwen();
  const std::string token = "<|image_pad|>";
  const int32_t id = tokenizer.find(token).value();
  EXPECT_EQ(tokenizer.encode(token), std::vector<int32_t>{id});
  const auto as_text = tokenizer.encode(token, std::vector<ByteSpan>{{0, token.size()}});
  EXPECT_GT(as_text.size(), 3U);
  for (size_t i = 0; i < token.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(token, std::vector<ByteSpan>{{i, i + 1}}), as_text);
    EXPECT_EQ(tokenizer.encode(token, std::vector<ByteSpan>{{i, i}}),
              std::vector<int32_t>{id});  // no byte
  }
  const std::string twice = token + token;
  std::vector<int32_t> expected = as_text;
  expected.push_back(id);
  EXPECT_EQ(tokenizer.encode(twice, std::vector<ByteSpan>{{3, 5}}), expected);
  EXPECT_EQ(tokenizer.encode(twice, std::vector<ByteSpan>{{4, token.size()}, {0, 7}}), expected);
}

TEST(Tokenizer, LiteralMarksFollowNormalization) {
  // A token that is looked for after NFC, next to user text that NFC shortens.
  const auto fixture = read_fixture("added_flags.json");
  const auto tokenizer = variant(fixture);
  const int32_t id = tokenizer.find("e\u0301toile").value();
  const std::string user = "e\u0301e\u0301";
  const std::string text = user + " e\u0301toile " + user;
  const size_t tail = text.size() - user.size();
  const auto count = [id](const std::vector<int32_t>& ids) {
    return std::count(ids.begin(), ids.end(), id);
  };
  EXPECT_EQ(
      count(tokenizer.encode(text, std::vector<ByteSpan>{{0, user.size()}, {tail, text.size()}})),
      1);
  EXPECT_EQ(count(tokenizer.encode(text, std::vector<ByteSpan>{{0, user.size() + 2}})), 0);
  EXPECT_EQ(
      count(tokenizer.encode(text, std::vector<ByteSpan>{{user.size() + 5, user.size() + 6}})), 0);
}

TEST(Tokenizer, LiteralSpansOutsideTheTextAreOurMistake) {
  const auto tokenizer = qwen();
  for (const ByteSpan span : {ByteSpan{0, 4}, ByteSpan{2, 1}, ByteSpan{9, 9}}) {
    EXPECT_THROW(tokenizer.encode("abc", std::vector<ByteSpan>{span}), base::Error);
  }
}

TEST(Tokenizer, MalformedUtf8IsReadAsReplacementCharacters) {
  const auto tokenizer = qwen();
  for (const std::string text : {"a\x80z", "\xff\xfe", "caf\xc3", "\xe6\x97", "x\xed\xa0\x80y",
                                 "\xf0\x9f\x98<|im_end|>", "\xc0\xaf"}) {
    EXPECT_EQ(tokenizer.encode(text), tokenizer.encode(base::repair_utf8(text)));
    const std::vector<ByteSpan> middle = {{1, text.size()}};
    EXPECT_NO_THROW(tokenizer.encode(text, middle));
  }
  // The mark stays on the right bytes although the repaired text is longer.
  const std::string text = "\xff\xff<|im_end|>";
  const int32_t id = tokenizer.find("<|im_end|>").value();
  EXPECT_EQ(tokenizer.encode(text, std::vector<ByteSpan>{{0, 2}}).back(), id);
  EXPECT_NE(tokenizer.encode(text, std::vector<ByteSpan>{{0, 3}}).back(), id);
}

TEST(Tokenizer, IdsAndBytes) {
  const auto plain = qwen();
  const int32_t end = plain.find("<|im_end|>").value();
  EXPECT_TRUE(plain.is_special(end));
  EXPECT_FALSE(plain.is_special(plain.find("<think>").value()));
  EXPECT_FALSE(plain.is_special(-1));
  EXPECT_FALSE(plain.is_special(plain.vocab_size()));
  EXPECT_EQ(plain.token_bytes(end), "<|im_end|>");
  EXPECT_EQ(plain.token_bytes(plain.find("Ġ").value()), " ");
  EXPECT_EQ(plain.token_bytes(plain.find("Ã").value()), "\xc3");
  EXPECT_FALSE(plain.find("no such token").has_value());
  EXPECT_FALSE(plain.find("").has_value());
  EXPECT_EQ(plain.decode(std::vector<int32_t>{plain.find("Ã").value()}), "\uFFFD");
  EXPECT_EQ(plain.decode(std::vector<int32_t>{plain.find("Ã").value(), plain.find("©").value()}),
            "é");
}

TEST(Tokenizer, IdsOutOfRangeAreErrorsAndPaddingIsNoText) {
  const auto plain = qwen();
  const int32_t size = plain.vocab_size();
  for (const int32_t id : {-1, size, INT32_MAX, INT32_MIN}) {
    EXPECT_THROW(plain.decode(std::vector<int32_t>{id}), base::Error);
    EXPECT_THROW(plain.token_bytes(id), base::Error);
  }
  const auto padded = Tokenizer::load(kFixtures / "qwen", {.padded_vocab = size + 10});
  EXPECT_EQ(padded.vocab_size(), size);
  EXPECT_EQ(padded.decode(std::vector<int32_t>{size, size + 9}), "");
  EXPECT_THROW(padded.decode(std::vector<int32_t>{size + 10}), base::Error);
}

TEST(Tokenizer, LongRunsTakeLittleTime) {
  const auto tokenizer = qwen();
  const auto start = std::chrono::steady_clock::now();
  for (const std::string unit : {"a", "ab", "the", "日", " ", "\n", "e\u0301", "\u0301",
                                 "\u0301\u0316", "1", "=", "\u0300\u0315\u0316"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)).empty(), false);
  }
  // A quadratic step would take minutes; a sanitizer build takes a few seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Tokenizer, ThreadsShareOne) {
  const auto tokenizer = qwen();
  const auto cases = read_fixture("qwen/cases.json").at("cases");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (const auto& row : cases)
        wrong[t] += tokenizer.encode(text_of(row)) == ids_of(row) ? 0 : 1;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace mlxcel::text
