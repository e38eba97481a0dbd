// Tokenizer files that are wrong, or that mean harm: each must end in one error that names its
// place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace mlxcel::text {
namespace {

using base::ErrorKind;
using Document = nlohmann::json;

// All 256 bytes, one merge, one added token.
Document small_document() {
  Document vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocab[spell_bytes({&c, 1})] = byte;
  }
  vocab["ab"] = 256;
  const Document byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const Document split = {{"type", "Split"},
                          {"pattern", {{"Regex", "\\s+|\\S+"}}},
                          {"behavior", "Isolated"},
                          {"invert", false}};
  return {{"added_tokens",
           Document::array(
               {{{"id", 257}, {"content", "<x>"}, {"special", true}, {"normalized", false}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Sequence"}, {"pretokenizers", Document::array({split, byte_level})}}},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Document::array({"a b"})}}}};
}

struct Failure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message = "no error";
};

Failure failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const base::Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

Failure failure_of_text(const std::string& text) {
  return failure_of([&] { Tokenizer::from_json(text, "t.json"); });
}

struct Case {
  std::string name;
  std::function<void(Document&)> change;
  ErrorKind kind;
  std::string mentions;  // must stand in the message
};

Document& first_split(Document& d) { return d["pre_tokenizer"]["pretokenizers"][0]; }
Document& added(Document& d) { return d["added_tokens"]; }

const std::vector<Case>& cases() {
  constexpr auto kBad = ErrorKind::kBadInput;
  constexpr auto kNo = ErrorKind::kUnsupported;
  static const std::vector<Case> all = {
      {"no model", [](Document& d) { d.erase("model"); }, kBad, "model"},
      {"model is a list",
       [](Document& d) {
         d["model"] = Document::array({1, 2});
       },
       kBad, "model"},
      {"model is null", [](Document& d) { d["model"] = nullptr; }, kBad, "model"},
      {"other model", [](Document& d) { d["model"]["type"] = "WordPiece"; }, kNo, "WordPiece"},
      {"unigram",
       [](Document& d) {
         d["model"] = {{"type", "Unigram"},
                       {"vocab", Document::array({Document::array({"a", 0.5})})}};
       },
       kNo, "Unigram"},
      {"model type is a number", [](Document& d) { d["model"]["type"] = 5; }, kBad, "model.type"},
      {"no vocab", [](Document& d) { d["model"].erase("vocab"); }, kBad, "model.vocab"},
      {"vocab is a list", [](Document& d) { d["model"]["vocab"] = Document::array({"a"}); }, kBad,
       "model.vocab"},
      {"vocab is a string", [](Document& d) { d["model"]["vocab"] = "a"; }, kBad, "model.vocab"},
      {"empty vocab",
       [](Document& d) {
         d = small_document();
         d["model"]["vocab"] = Document::object();
         d["model"]["merges"] = Document::array();
         d["added_tokens"] = Document::array();
       },
       kBad, "empty"},
      {"no merges", [](Document& d) { d["model"].erase("merges"); }, kBad, "model.merges"},
      {"merges are an object",
       [](Document& d) {
         d["model"]["merges"] = {{"a", "b"}};
       },
       kBad, "model.merges"},
      {"merge of an absent token", [](Document& d) { d["model"]["merges"].push_back("b zz"); },
       kBad, "merge 1 needs the token 'zz'"},
      {"merge into an absent token", [](Document& d) { d["model"]["merges"].push_back("b a"); },
       kBad, "'ba'"},
      {"merge of one", [](Document& d) { d["model"]["merges"].push_back("ab"); }, kBad,
       "merge 1 is not a pair"},
      {"merge of three", [](Document& d) { d["model"]["merges"].push_back("a b a"); }, kBad,
       "merge 1 is not a pair"},
      {"merge list of one",
       [](Document& d) { d["model"]["merges"].push_back(Document::array({"a"})); }, kBad,
       "merge 1 is not a pair"},
      {"merge list of three",
       [](Document& d) {
         d["model"]["merges"].push_back(Document::array({"a", "b", "a"}));
       },
       kBad, "merge 1 is not a pair"},
      {"merge of numbers",
       [](Document& d) {
         d["model"]["merges"].push_back(Document::array({1, 2}));
       },
       kBad, "merge 1 is not a pair"},
      {"merge is a number", [](Document& d) { d["model"]["merges"].push_back(3); }, kBad,
       "merge 1 is not a pair"},
      {"merge in a list too many",
       [](Document& d) {
         d["model"]["merges"].push_back(Document::array({Document::array({"a", "b"})}));
       },
       kBad, "merge 1 is not a pair"},
      {"duplicate id", [](Document& d) { d["model"]["vocab"]["q!"] = 7; }, kBad,
       "has the id 7, which another token has"},
      {"negative id", [](Document& d) { d["model"]["vocab"]["q!"] = -1; }, kBad, "'q!'"},
      {"huge id", [](Document& d) { d["model"]["vocab"]["q!"] = 4'000'000'000U; }, kBad, "'q!'"},
      {"id beyond 64 bits", [](Document& d) { d["model"]["vocab"]["q!"] = 1e30; }, kBad, "'q!'"},
      {"fractional id", [](Document& d) { d["model"]["vocab"]["q!"] = 257.5; }, kBad, "'q!'"},
      {"id is a string", [](Document& d) { d["model"]["vocab"]["q!"] = "257"; }, kBad, "'q!'"},
      {"id is a list", [](Document& d) { d["model"]["vocab"]["q!"] = Document::array({1}); }, kBad,
       "'q!'"},
      {"id is null", [](Document& d) { d["model"]["vocab"]["q!"] = nullptr; }, kBad, "'q!'"},
      {"byte fallback", [](Document& d) { d["model"]["byte_fallback"] = true; }, kNo,
       "byte_fallback"},
      {"dropout", [](Document& d) { d["model"]["dropout"] = 0.1; }, kNo, "dropout"},
      {"subword prefix", [](Document& d) { d["model"]["continuing_subword_prefix"] = "##"; }, kNo,
       "continuing_subword_prefix"},
      {"word suffix", [](Document& d) { d["model"]["end_of_word_suffix"] = "</w>"; }, kNo,
       "end_of_word_suffix"},
      {"unknown token in use",
       [](Document& d) {
         d["model"]["unk_token"] = "a";
         d["model"]["vocab"].erase("b");
         d["model"]["merges"] = Document::array();
       },
       kNo, "unk_token"},
      {"added id of another token", [](Document& d) { added(d)[0]["id"] = 3; }, kBad,
       "'<x>' has the id 3"},
      {"added id with a gap", [](Document& d) { added(d)[0]["id"] = 999; }, kBad, "expected 257"},
      {"added id too large", [](Document& d) { added(d)[0]["id"] = 1LL << 40; }, kBad,
       "added_tokens[0].id"},
      {"added id negative", [](Document& d) { added(d)[0]["id"] = -5; }, kBad,
       "added_tokens[0].id"},
      {"added id of a known token", [](Document& d) { added(d)[0]["content"] = "ab"; }, kBad,
       "expected 256"},
      {"added token twice",
       [](Document& d) {
         added(d).push_back(added(d)[0]);
         added(d)[1]["id"] = 258;
       },
       kBad, "twice"},
      {"added token of no text", [](Document& d) { added(d)[0]["content"] = ""; }, kBad, "0 bytes"},
      {"added token very long",
       [](Document& d) { added(d)[0]["content"] = std::string(5000, 'x'); }, kBad, "5000 bytes"},
      {"added token without text", [](Document& d) { added(d)[0].erase("content"); }, kBad,
       "added_tokens[0].content"},
      {"added tokens are an object",
       [](Document& d) {
         d["added_tokens"] = {{"a", 1}};
       },
       kBad, "added_tokens"},
      {"added token is a number", [](Document& d) { added(d)[0] = 7; }, kBad, "added_tokens[0]"},
      {"added token flag is a string", [](Document& d) { added(d)[0]["lstrip"] = "yes"; }, kBad,
       "lstrip"},
      {"normalizer unknown",
       [](Document& d) {
         d["normalizer"] = {{"type", "Lowercase"}};
       },
       kNo, "Lowercase"},
      {"normalizer unknown inside",
       [](Document& d) {
         d["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "Replace"}}}}};
       },
       kNo, "Replace"},
      {"normalizer is a string", [](Document& d) { d["normalizer"] = "NFC"; }, kBad, "normalizer"},
      {"no pre-tokenizer", [](Document& d) { d["pre_tokenizer"] = nullptr; }, kNo, "pre_tokenizer"},
      {"pre-tokenizer unknown",
       [](Document& d) {
         d["pre_tokenizer"] = {{"type", "Metaspace"}};
       },
       kNo, "Metaspace"},
      {"pre-tokenizer empty",
       [](Document& d) { d["pre_tokenizer"]["pretokenizers"] = Document::array(); }, kBad,
       "0 steps"},
      {"not byte level", [](Document& d) { d["pre_tokenizer"]["pretokenizers"].erase(1); }, kNo,
       "ByteLevel"},
      {"byte level first",
       [](Document& d) { d["pre_tokenizer"]["pretokenizers"].push_back(first_split(d)); }, kNo,
       "ByteLevel"},
      {"many steps",
       [](Document& d) {
         for (int i = 0; i < 100; ++i) d["pre_tokenizer"]["pretokenizers"].push_back(d["decoder"]);
       },
       kBad, "102 steps"},
      {"behavior unknown", [](Document& d) { first_split(d)["behavior"] = "Exploded"; }, kNo,
       "Exploded"},
      {"split without a pattern", [](Document& d) { first_split(d).erase("pattern"); }, kBad,
       "pattern"},
      {"bad pattern", [](Document& d) { first_split(d)["pattern"]["Regex"] = "a(b"; }, kBad,
       "pattern.Regex"},
      {"bad property", [](Document& d) { first_split(d)["pattern"]["Regex"] = "\\p{Nonsense}"; },
       kBad, "pattern.Regex"},
      {"open bracket", [](Document& d) { first_split(d)["pattern"]["Regex"] = "[abc"; }, kNo,
       "pattern.Regex"},
      {"set intersection",
       [](Document& d) { first_split(d)["pattern"]["Regex"] = "[\\p{L}&&[^a]]+"; }, kNo, "&&"},
      {"recursion", [](Document& d) { first_split(d)["pattern"]["Regex"] = "(a(?R)?b)"; }, kNo,
       "(?R"},
      {"verb", [](Document& d) { first_split(d)["pattern"]["Regex"] = "(*LIMIT_MATCH=1)a"; }, kNo,
       "(*"},
      {"back reference", [](Document& d) { first_split(d)["pattern"]["Regex"] = "(a+)\\1"; }, kNo,
       "\\1"},
      {"nested brackets",
       [](Document& d) {
         first_split(d)["pattern"]["Regex"] = std::string(3000, '(') + std::string(3000, ')');
       },
       kBad, "pattern.Regex"},
      {"exploding pattern",
       [](Document& d) { first_split(d)["pattern"]["Regex"] = "(((a{1000}){1000}){1000})"; }, kBad,
       "pattern.Regex"},
      {"long pattern",
       [](Document& d) { first_split(d)["pattern"]["Regex"] = std::string(1'000'000, 'a'); }, kBad,
       "1000000 bytes"},
      {"empty literal pattern",
       [](Document& d) {
         first_split(d)["pattern"] = {{"String", ""}};
       },
       kBad, "pattern.String"},
      {"no decoder", [](Document& d) { d["decoder"] = nullptr; }, kNo, "decoder"},
      {"decoder unknown",
       [](Document& d) {
         d["decoder"] = {{"type", "WordPiece"}};
       },
       kNo, "WordPiece"},
      {"decoder without type", [](Document& d) { d["decoder"] = Document::object(); }, kBad,
       "decoder.type"},
  };
  return all;
}

TEST(HostileTokenizer, TheUnchangedDocumentLoads) {
  const auto tokenizer = Tokenizer::from_json(small_document().dump(), "t.json");
  EXPECT_EQ(tokenizer.encode("ab<x>b"), (std::vector<int32_t>{256, 257, 'b'}));
}

TEST(HostileTokenizer, EachFaultIsOneClearError) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Document document = small_document();
    c.change(document);
    const Failure failure = failure_of_text(document.dump());
    EXPECT_EQ(failure.kind, c.kind) << failure.message;
    EXPECT_TRUE(failure.message.starts_with("t.json")) << failure.message;
    EXPECT_NE(failure.message.find(c.mentions), std::string::npos) << failure.message;
    EXPECT_EQ(failure.message.find('\n'), std::string::npos) << failure.message;
    EXPECT_LT(failure.message.size(), 400U) << failure.message;
  }
}

TEST(HostileTokenizer, TextThatIsNotADocument) {
  const std::string good = small_document().dump();
  const std::string deep(100'000, '[');
  std::string wide = "{\"x\":{";
  for (int i = 0; i < 200'000; ++i) wide += "\"" + std::to_string(i) + "\":0,";
  std::string many = "{\"x\":[";
  for (int i = 0; i < 2'000'000; ++i) many += "0,";
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("5"), std::string("{"),
        std::string("\"x\""), std::string("{\"model\":1e999}"),
        std::string("{\"model\":{\"vocab\":{\"\\ud800\":1}}}"), std::string("\xff\xfe"),
        std::string("{\"model\":{\"vocab\":{\"a\":0,\"a\":1}}}"),
        std::string("{\"model\":{\"vocab\":{},\"vocab\":{}}}"), good + "x",
        good.substr(0, good.size() - 1), deep, "{\"model\":{\"vocab\":" + deep,
        "{\"model\":{\"merges\":" + deep, "{\"x\":" + deep, wide, many}) {
    const Failure failure = failure_of_text(text);
    EXPECT_EQ(failure.kind, ErrorKind::kBadInput)
        << failure.message << " for " << text.substr(0, 60);
    EXPECT_TRUE(failure.message.starts_with("t.json")) << failure.message;
  }
}

TEST(HostileTokenizer, EveryTruncationIsAnError) {
  const std::string good = small_document().dump();
  for (size_t length = 0; length < good.size(); length += 7) {
    EXPECT_EQ(failure_of_text(good.substr(0, length)).kind, ErrorKind::kBadInput) << length;
  }
}

TEST(HostileTokenizer, CatastrophicPatternsEndInAnError) {
  // "a\u0001" can be cut in exponentially many ways before each fails.
  for (const std::string pattern :
       {"(?:a+)+$", "(?:a|a)*$", "(?:a|aa)+$", "(?:.*.*.*.*.*)*[bc]", "(?:a?){60}a{60}$"}) {
    Document document = small_document();
    first_split(document)["pattern"]["Regex"] = pattern;
    const auto tokenizer = Tokenizer::from_json(document.dump(), "t.json");
    const auto start = std::chrono::steady_clock::now();
    const Failure failure = failure_of([&] { tokenizer.encode(std::string(5000, 'a') + "\x01"); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << pattern;
    EXPECT_EQ(failure.kind, ErrorKind::kResource) << pattern << ": " << failure.message;
    EXPECT_NE(failure.message.find("pattern.Regex"), std::string::npos) << failure.message;
    EXPECT_EQ(tokenizer.encode("<x>"), std::vector<int32_t>{257});  // and the tokenizer still works
  }
}

class HostileFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("mlxcel_tokenizer_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Failure load() const {
    return failure_of([&] { Tokenizer::load(folder_); });
  }
  std::filesystem::path folder_;
};

TEST_F(HostileFiles, WhatIsMissingIsNamed) {
  EXPECT_EQ(load().kind, ErrorKind::kNotFound);
  EXPECT_NE(load().message.find("vocab.json"), std::string::npos);
  write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  EXPECT_EQ(load().kind, ErrorKind::kNotFound);
  EXPECT_NE(load().message.find("merges.txt"), std::string::npos);
  write("merges.txt", "#version: 0.2\r\na b\r\n\r\n");
  EXPECT_EQ(load().message, "no error");  // tokenizer_config.json is only needed for added tokens
  EXPECT_EQ(Tokenizer::load(folder_).encode("abba"), (std::vector<int32_t>{2, 1, 0}));
}

TEST_F(HostileFiles, FaultsInTheOlderFiles) {
  write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  write("merges.txt", "a b");
  const auto expect = [&](const std::string& file, const std::string& text,
                          const std::string& mentions) {
    write(file, text);
    const Failure failure = load();
    EXPECT_EQ(failure.kind, ErrorKind::kBadInput) << failure.message;
    EXPECT_NE(failure.message.find(file), std::string::npos) << failure.message;
    EXPECT_NE(failure.message.find(mentions), std::string::npos) << failure.message;
  };
  for (const std::string vocab : {"[]", "5", "{}", "null"})
    expect("vocab.json", vocab, "expected an object");
  expect("vocab.json", R"({"a":0,"b":0})", "another token");
  expect("vocab.json", R"({"a":{}})", "'a'");
  write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  expect("merges.txt", "a b\na\n", "merge 1");
  expect("merges.txt", "a  b\n", "merge 0");
  expect("merges.txt", "a c\n", "'c'");
  write("merges.txt", "a b");
  expect("tokenizer_config.json", "{", "JSON");
  expect("tokenizer_config.json", "[]", "object");
  expect("tokenizer_config.json", R"({"added_tokens_decoder":[]})", "added_tokens_decoder");
  for (const std::string id : {"x", "", "-3", "99999999", "3 "}) {
    expect("tokenizer_config.json",
           "{\"added_tokens_decoder\":{\"" + id + "\":{\"content\":\"<x>\"}}}",
           "the id '" + id + "'");
  }
  expect("tokenizer_config.json", R"({"added_tokens_decoder":{"9":{"content":"<x>"}}})",
         "expected 3");
}

}  // namespace
}  // namespace mlxcel::text
