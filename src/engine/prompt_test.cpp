#include "engine/prompt.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace mlxcel::engine {
namespace {

models::ModelInfo info_with_placeholder(int32_t id) {
  models::ModelInfo info;
  info.images = models::ImageTokens{.placeholder_id = id};
  return info;
}

TEST(ExpandPlaceholders, EachTakesTheTokensOfItsPicture) {
  const std::array<int32_t, 6> ids = {1, 9, 2, 9, 3, 4};
  const std::array<int64_t, 2> tokens = {3, 1};
  const PreparedPrompt prompt = expand_placeholders(ids, info_with_placeholder(9), tokens);
  EXPECT_EQ(prompt.token_ids, (std::vector<int32_t>{1, 9, 9, 9, 2, 9, 3, 4}));
  EXPECT_EQ(prompt.visual, (std::vector<uint8_t>{0, 1, 1, 1, 0, 1, 0, 0}));
  EXPECT_EQ(prompt.positions, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(prompt.next_position, 8);
}

TEST(ExpandPlaceholders, RefusesOtherNumbersOfPictures) {
  const std::array<int32_t, 2> ids = {9, 9};
  const std::array<int64_t, 1> one = {4};
  const std::array<int64_t, 3> three = {4, 4, 4};
  EXPECT_THROW(expand_placeholders(ids, info_with_placeholder(9), one), base::Error);
  EXPECT_THROW(expand_placeholders(ids, info_with_placeholder(9), three), base::Error);
  EXPECT_THROW(expand_placeholders({}, info_with_placeholder(9), {}), base::Error);
}

TEST(ExpandPlaceholders, ATextModelHasNone) {
  const std::array<int32_t, 2> ids = {9, 9};
  EXPECT_EQ(expand_placeholders(ids, {}, {}).visual, (std::vector<uint8_t>{0, 0}));
}

TEST(Conversation, TextAloneIsAStringAndPicturesMakeAList) {
  using Kind = ContentPart::Kind;
  const Conversation conversation = {{"system", {{Kind::kText, "Be brief."}}},
                                     {"user", {{Kind::kImage, ""}, {Kind::kText, "What is it?"}}}};
  EXPECT_EQ(
      to_json(conversation).dump(),
      R"([{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":[{"type":"image"},{"type":"text","text":"What is it?"}]}])");
}

}  // namespace
}  // namespace mlxcel::engine
