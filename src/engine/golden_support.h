// Fixtures of golden_test.cpp: prompts, and what a PyTorch reference computed for them, stage by
// stage. tools/oracle/make_goldens.py makes both. Not for use outside tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"
#include "engine/loaded_model.h"
#include "engine/prompt.h"
#include "image/decode.h"

namespace mlxcel::engine {

inline std::filesystem::path fixtures(const std::string& family) {
  return std::filesystem::path(MLXCEL_SOURCE_DIR) / "tests" / "fixtures" / family;
}

// ---- stages ------------------------------------------------------------------------------------

struct Stage {
  std::vector<int64_t> shape;
  std::vector<float> floats;      // of a float stage
  std::vector<int32_t> integers;  // of an integer stage
};
using StageMap = std::map<std::string, Stage>;

inline StageMap read_stages(const std::filesystem::path& file) {
  StageMap stages;
  for (const checkpoint::Tensor& tensor : checkpoint::open_safetensors(file)) {
    Stage& stage = stages[tensor.name];
    stage.shape = tensor.shape;
    if (tensor.dtype == base::DType::kI32) {
      stage.integers.resize(static_cast<size_t>(tensor.elements()));
      std::memcpy(stage.integers.data(), tensor.data.data(), tensor.data.size());
    } else {
      stage.floats = checkpoint::widen(tensor);
    }
  }
  return stages;
}

// Names of stages in the order in which a model computes them, so that the first one that differs
// is the one to look at.
inline std::vector<std::string> in_pipeline_order(const StageMap& stages) {
  constexpr std::array kOrder = {"input_ids",
                                 "position_ids",
                                 "grid_thw",
                                 "pixel_values",
                                 "vision.position_ids",
                                 "vision.patch_embed",
                                 "vision.layernorm_pre",
                                 "vision.block.",
                                 "vision.merger",
                                 "inputs_embeds",
                                 "decoder.hidden.",
                                 "decoder.norm",
                                 "logits",
                                 "tokens"};
  std::vector<std::string> names;
  for (const std::string_view prefix : kOrder) {
    for (const auto& [name, stage] : stages) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
  }
  EXPECT_EQ(names.size(), stages.size()) << "a golden stage that is not compared";
  return names;
}

// The last rows of a stage.
inline Stage last_rows(const Stage& stage, int64_t rows) {
  Stage result = stage;
  result.shape[0] = rows;
  const auto kept = static_cast<std::ptrdiff_t>(static_cast<int64_t>(stage.floats.size()) /
                                                stage.shape[0] * rows);
  result.floats.assign(stage.floats.end() - kept, stage.floats.end());
  return result;
}

inline float largest(const std::vector<float>& values) {
  float result = 0;
  for (const float value : values) result = std::max(result, std::fabs(value));
  return result;
}

// Largest difference; infinite when a value is no number.
inline float difference(const std::vector<float>& got, const std::vector<float>& want) {
  float result = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const float one = std::fabs(got[i] - want[i]);
    if (!std::isfinite(one)) return INFINITY;
    result = std::max(result, one);
  }
  return result;
}

// Both sides compute in f32, so only the order of sums differs. This is tight enough to see a GELU
// by its tanh formula, or another epsilon in a norm: either moves the logits by 7e-4 or more of the
// largest.
constexpr float kTolerance = 1e-4F;
constexpr float kPixelTolerance = 1e-5F;

// Integers equal; floats within `tolerance` * max(1, largest value of the stage).
inline void expect_stage(const std::string& name, const Stage& got, const Stage& want,
                         float tolerance = kTolerance) {
  ASSERT_EQ(got.shape, want.shape) << name;
  EXPECT_EQ(got.integers, want.integers) << name;
  ASSERT_EQ(got.floats.size(), want.floats.size()) << name;
  const float limit =
      name == "pixel_values" ? kPixelTolerance : tolerance * std::max(1.0F, largest(want.floats));
  EXPECT_LE(difference(got.floats, want.floats), limit) << name;
}

// ---- prompts -----------------------------------------------------------------------------------

struct GoldenCase {
  std::string name;
  Conversation conversation;
  std::vector<std::filesystem::path> pictures;
  std::string answer;  // text of the greedy tokens, special ones left out
};

inline Message read_message(const base::Json& json) {
  Message message = {json.at("role"), {}};
  const base::Json& content = json.at("content");
  if (content.is_string()) {
    message.content.push_back({ContentPart::Kind::kText, content});
    return message;
  }
  for (const base::Json& part : content) {
    if (part.at("type") == "image") {
      message.content.push_back({ContentPart::Kind::kImage, ""});
    } else {
      message.content.push_back({ContentPart::Kind::kText, part.at("text")});
    }
  }
  return message;
}

inline GoldenCase read_case(const std::filesystem::path& folder, const std::string& name) {
  const base::Json document = base::load_json(folder / "cases.json");
  for (const base::Json& json : document.at("cases")) {
    if (json.at("name") != name) continue;
    GoldenCase result;
    result.name = name;
    for (const base::Json& message : json.at("messages")) {
      result.conversation.push_back(read_message(message));
    }
    for (const base::Json& file : json.at("pictures")) {
      result.pictures.push_back(folder / file.get<std::string>());
    }
    result.answer = json.at("answer");
    return result;
  }
  throw base::not_found("{}: no case '{}'", (folder / "cases.json").string(), name);
}

// A case made ready for one model.
struct GoldenPrompt {
  std::vector<image::Patches> patches;
  PreparedPrompt prompt;

  GoldenPrompt(const LoadedModel& model, const GoldenCase& golden) {
    std::vector<int64_t> tokens;
    for (const auto& file : golden.pictures) {
      patches.push_back(model.processor->process(image::load(file)));
      tokens.push_back(model.processor->image_tokens(patches.back().grid));
    }
    const auto ids =
        encode_conversation(golden.conversation, model.chat_template.value(), model.tokenizer);
    prompt = expand_placeholders(ids, model.info(), tokens);
  }

  std::vector<const image::Patches*> pictures() const {
    std::vector<const image::Patches*> views;
    for (const image::Patches& picture : patches) views.push_back(&picture);
    return views;
  }
};

}  // namespace mlxcel::engine
