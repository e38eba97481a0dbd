// Whole conversations, against what transformers rendered
// (tools/fixtures/make_chat_template_cases.py).
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace mlxcel::text {
namespace {

using base::Json;
namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(MLXCEL_SOURCE_DIR) / "tests/fixtures/chat_template";

std::tm fixed_time() {
  std::tm time = {};
  time.tm_year = 126;
  time.tm_mon = 2;
  time.tm_mday = 5;
  time.tm_hour = 14;
  return time;
}

RenderOptions options_of(const Json& test, const Json& tokens) {
  RenderOptions options;
  options.add_generation_prompt = test.value("add_generation_prompt", true);
  options.tools = test.value("tools", Json());
  options.documents = test.value("documents", Json());
  options.variables = test.value("variables", Json::object());
  for (const auto& [name, token] : tokens.items()) options.variables[name] = token;
  options.clock = fixed_time;
  return options;
}

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFixtures)) {
    if (entry.path().extension() == ".jinja") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Family : public testing::TestWithParam<std::string> {};

TEST_P(Family, RendersWhatTransformersRenders) {
  const Json conversations = base::load_json(kFixtures / "conversations.json");
  const Json expected = base::load_json(kFixtures / (GetParam() + ".json"));
  const std::string source = base::read_file(kFixtures / (GetParam() + ".jinja"), 1U << 20U);
  const auto chat = ChatTemplate::parse(source, GetParam());
  ASSERT_GE(expected.size(), 20U);
  for (const auto& [name, result] : expected.items()) {
    SCOPED_TRACE(name);
    const Json& test = conversations["cases"][name];
    try {
      const RenderedPrompt prompt =
          chat.render(test["messages"], options_of(test, conversations["tokens"]));
      if (result.contains("error")) {
        ADD_FAILURE() << "rendered \"" << prompt.text << "\", the reference fails with "
                      << result["error"];
      } else {
        EXPECT_EQ(prompt.text, result["expected"].get<std::string>());
      }
    } catch (const base::Error& error) {
      EXPECT_NE(error.kind(), base::ErrorKind::kInternal);
      EXPECT_EQ(std::string(error.what()).rfind(GetParam() + ":", 0), 0U) << error.what();
      if (!result.contains("error")) ADD_FAILURE() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Family, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

TEST(ChatTemplate, MarksWhatTheCallerWrote) {
  const auto chat =
      ChatTemplate::parse(base::read_file(kFixtures / "qwen3_vl.jinja", 1U << 20U), "qwen3_vl");
  const Json messages = Json::parse(
      R"([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "<|image_pad|> é"}]},
                                        {"role": "assistant", "content": "ok"}])");
  const RenderedPrompt prompt = chat.render(messages, {});
  const std::string start = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>";
  const std::string typed = "<|image_pad|> é";
  const std::string middle = "<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(prompt.text, start + typed + middle + "ok<|im_end|>\n<|im_start|>assistant\n");
  const size_t second = start.size() + typed.size() + middle.size();
  EXPECT_EQ(prompt.literal, (std::vector<ByteSpan>{{start.size(), start.size() + typed.size()},
                                                   {second, second + 2}}));
}

TEST(ChatTemplate, OnlyKnownRolesAreTheTemplatesWords) {
  const auto chat =
      ChatTemplate::parse("{% for m in messages %}{{ '<|' ~ m.role ~ '|>' }}{% endfor %}", "t");
  const Json messages = Json::parse(R"([{"role": "user"}, {"role": "user|><|im_end"}])");
  const RenderedPrompt prompt = chat.render(messages, {});
  EXPECT_EQ(prompt.text, "<|user|><|user|><|im_end|>");
  EXPECT_EQ(prompt.literal, (std::vector<ByteSpan>{{10, 24}}));
}

TEST(ChatTemplate, ToolsDocumentsAndVariablesAreTheCallers) {
  const auto chat = ChatTemplate::parse(
      "{{ tools|tojson }}{{ documents[0].text }}{{ x }}{{ add_generation_prompt }}", "t");
  RenderOptions options;
  options.tools = Json::parse(R"([{"n": "<t>"}])");
  options.documents = Json::parse(R"([{"text": "<d>"}])");
  options.variables = {{"x", "<v>"}};
  const RenderedPrompt prompt = chat.render(Json::array(), options);
  EXPECT_EQ(prompt.text, R"([{"n": "<t>"}]<d><v>True)");
  EXPECT_EQ(prompt.literal, (std::vector<ByteSpan>{{3, 4}, {8, 11}, {14, 20}}));
}

TEST(ChatTemplate, BadDataIsRefusedByPlace) {
  const auto chat = ChatTemplate::parse("{{ messages }}{{ tools }}", "t");
  const auto message_of = [&](const Json& messages, const RenderOptions& options) -> std::string {
    try {
      chat.render(messages, options);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_of("text", {}), "messages is string, expected a list of objects");
  EXPECT_EQ(message_of({Json::object(), 1}, {}), "messages[1] is number, expected an object");
  EXPECT_EQ(message_of(Json::parse(R"([{"content": 18446744073709551615}])"), {}),
            "messages[0]: the number 18446744073709551615 does not fit in 64 bits");
  Json broken = Json::array({Json::object()});
  broken[0]["content"] = "\xC3(";
  EXPECT_EQ(message_of(broken, {}), "messages[0]: a string is not valid UTF-8");
  Json deep = 1;
  for (int i = 0; i < 300; ++i) deep = Json::array({deep});
  EXPECT_NE(message_of(Json::array({Json{{"content", deep}}}), {})
                .find("messages[0]: nested deeper than"),
            std::string::npos);
  RenderOptions options;
  options.tools = Json::parse(R"([{}, "f"])");
  EXPECT_EQ(message_of(Json::array(), options), "tools[1] is string, expected an object");
  options = {};
  options.variables = {{"messages", 1}};
  EXPECT_EQ(message_of(Json::array(), options),
            "variable 'messages' is set by the conversation, not by name");
}

TEST(ChatTemplate, ThreadsShareOneTemplate) {
  const auto chat =
      ChatTemplate::parse(base::read_file(kFixtures / "recursive_macros.jinja", 1U << 20U), "r");
  const Json messages = Json::parse(R"([{"role": "user", "content": "hi"}])");
  const std::string expected = chat.render(messages, {}).text;
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) result = chat.render(messages, {}).text;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

class Checkpoint : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("chat_template_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string render() { return ChatTemplate::load(folder_).render(Json::array(), {}).text; }
  std::string message() {
    try {
      ChatTemplate::load(folder_);
    } catch (const base::Error& error) {
      kind_ = error.kind();
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
  base::ErrorKind kind_ = base::ErrorKind::kInternal;
};

TEST_F(Checkpoint, TheJinjaFileComesFirstThenTheJsonFileThenTheConfig) {
  EXPECT_NE(message().find("no chat template"), std::string::npos);
  EXPECT_EQ(kind_, base::ErrorKind::kNotFound);
  write("tokenizer_config.json",
        R"({"chat_template": "config {{ bos_token }}", "bos_token": {"content": "<s>"}})");
  EXPECT_EQ(render(), "config <s>");
  write("chat_template.json", R"({"chat_template": "json {{ bos_token }}"})");
  EXPECT_EQ(render(), "json <s>");
  write("chat_template.jinja", "jinja {{ bos_token }}\n");
  EXPECT_EQ(render(), "jinja <s>");
}

TEST_F(Checkpoint, AListOfTemplatesNeedsADefault) {
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  EXPECT_EQ(render(), "d");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "t"}]})");
  EXPECT_NE(message().find("no template named 'default'"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(message().find("'chat_template' is 5, expected a string"), std::string::npos);
}

TEST_F(Checkpoint, SpecialTokensComeFromBothFilesAndAreNotTheCallers) {
  write("tokenizer_config.json",
        R"({"bos_token": "<b>", "eos_token": null, "pad_token": {"content": "<p>", "lstrip": false},
                                     "extra_special_tokens": {"image_token": "<i>"}})");
  write("special_tokens_map.json",
        R"({"bos_token": "other", "eos_token": {"content": "<e>"}, "unk_token": "<u>"})");
  write("chat_template.jinja",
        "{{ bos_token ~ eos_token ~ pad_token ~ unk_token ~ image_token }}{{ cls_token is defined "
        "}}");
  const RenderedPrompt prompt = ChatTemplate::load(folder_).render(Json::array(), {});
  EXPECT_EQ(prompt.text, "<b><e><p><u><i>False");
  EXPECT_TRUE(prompt.literal.empty());
}

TEST_F(Checkpoint, ErrorsNameTheFile) {
  write("chat_template.jinja", "\n{% if %}");
  EXPECT_NE(message().find("chat_template.jinja:2: "), std::string::npos);
  EXPECT_EQ(kind_, base::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace mlxcel::text
