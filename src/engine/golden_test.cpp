// The engine against the PyTorch reference of tools/oracle/, from pixels to tokens, on small random
// checkpoints: each layout, each kind of quantisation, prompts in chunks, in batches and in turns.
// The first message names the stage to look at.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/testing.h"
#include "engine/dump.h"
#include "engine/golden_support.h"
#include "engine/session.h"

namespace mlxcel::engine {
namespace {

using ops::Backend;

const std::filesystem::path kMage = fixtures("mage_vl");
constexpr int64_t kGoldenTokens = 32;
// The wrong base that an engine falls back to when it overlooks `rope_parameters`.
constexpr int kWrongTheta = 10000;

class GoldenTest : public ::testing::Test {
 protected:
  LoadedModel open(const std::filesystem::path& folder, Backend backend = Backend::kKernels) {
    return LoadedModel::open(folder, {.backend = backend, .pool = &pool_});
  }

  // All stages of a case, as `mlxcel dump` writes them.
  StageMap dump(const LoadedModel& model, const GoldenCase& golden) const {
    const GoldenPrompt input(model, golden);
    const auto file = temp_.path() / "stages.safetensors";
    dump_stages(model, input.prompt, input.pictures(), {.max_tokens = kGoldenTokens}, file);
    return read_stages(file);
  }

  // Every stage of the golden file, in the order in which they are computed.
  static void expect_stages(const StageMap& got, const StageMap& want) {
    for (const std::string& name : in_pipeline_order(want)) {
      const auto found = got.find(name);
      if (found == got.end()) {
        ADD_FAILURE() << name << " is missing";
      } else {
        expect_stage(name, found->second, want.at(name));
      }
    }
  }

  base::TempDir temp_;

 private:
  base::ThreadPool pool_{2};
};

std::string backend_name(Backend backend) {
  return backend == Backend::kKernels ? "kernels" : "stock";
}

// ---- every stage -------------------------------------------------------------------------------

using StagesParam = std::tuple<std::string, std::string, Backend>;  // layout, case, back end

class GoldenStages : public GoldenTest, public ::testing::WithParamInterface<StagesParam> {};

TEST_P(GoldenStages, EqualTheReference) {
  const auto& [layout, name, backend] = GetParam();
  const LoadedModel model = open(kMage / layout, backend);
  const StageMap want = read_stages(kMage / "goldens" / (name + ".safetensors"));
  ASSERT_GE(want.size(), 9u);
  expect_stages(dump(model, read_case(kMage, name)), want);
}

std::string stages_name(const ::testing::TestParamInfo<StagesParam>& info) {
  const auto& [layout, name, backend] = info.param;
  return fmt::format("{}_{}_{}", layout, name, backend_name(backend));
}

const auto kShortCases = ::testing::Values("one_picture", "two_pictures", "four_pictures",
                                           "resized_picture", "text_only");

INSTANTIATE_TEST_SUITE_P(Layouts, GoldenStages,
                         ::testing::Combine(::testing::Values("hub", "mlx"), kShortCases,
                                            ::testing::Values(Backend::kKernels)),
                         stages_name);
INSTANTIATE_TEST_SUITE_P(StockOperations, GoldenStages,
                         ::testing::Combine(::testing::Values("mlx"), kShortCases,
                                            ::testing::Values(Backend::kStock)),
                         stages_name);

// ---- quantised weights -------------------------------------------------------------------------

class GoldenQuantised : public GoldenTest, public ::testing::WithParamInterface<StagesParam> {};

// The reference ran on the expanded weights. `mixed` has 4 and 8 bits, groups of 32 and 64, and one
// matrix left dense.
TEST_P(GoldenQuantised, LogitsAndTokensEqualTheReference) {
  const auto& [variant, name, backend] = GetParam();
  const LoadedModel model = open(kMage / variant, backend);
  const auto file = fmt::format("{}.{}.safetensors", name, variant);
  expect_stages(dump(model, read_case(kMage, name)), read_stages(kMage / "goldens" / file));
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenQuantised,
                         ::testing::Combine(::testing::Values("8bit", "4bit", "mixed"),
                                            ::testing::Values("one_picture", "text_only"),
                                            ::testing::Values(Backend::kKernels, Backend::kStock)),
                         stages_name);

// ---- long prompts and the rope base ------------------------------------------------------------

class GoldenLong : public GoldenTest {
 protected:
  const GoldenCase golden_ = read_case(kMage, "long");
  const StageMap want_ = read_stages(kMage / "goldens" / "long.safetensors");

  std::vector<int32_t> tokens_with_theta(int theta) {
    const auto folder = temp_.path() / "checkpoint";
    std::filesystem::copy(kMage / "hub", folder);
    base::Json config = base::load_json(folder / "config.json");
    config.at("text_config").at("rope_parameters").at("rope_theta") = theta;
    std::ofstream(folder / "config.json") << config;
    return dump(open(folder), golden_).at("tokens").integers;
  }
};

TEST_F(GoldenLong, EqualsTheReference) {
  StageMap got = dump(open(kMage / "hub"), golden_);
  got.at("logits") = last_rows(got.at("logits"), want_.at("logits").shape[0]);
  for (const char* name : {"grid_thw", "input_ids", "position_ids", "logits", "tokens"}) {
    expect_stage(name, got.at(name), want_.at(name));
  }
  EXPECT_GE(got.at("input_ids").shape[0], 1500);
}

TEST_F(GoldenLong, TellsAWrongRopeBase) {
  const auto tokens = tokens_with_theta(kWrongTheta);
  EXPECT_NE(tokens, want_.at("tokens").integers);
  EXPECT_EQ(tokens, want_.at(fmt::format("tokens_theta_{}", kWrongTheta)).integers);
}

// ---- sessions ----------------------------------------------------------------------------------

const GenerateOptions kGreedy = {
    .sampling = {.temperature = 0}, .max_tokens = kGoldenTokens, .stop = {}, .ignore_eos = true};

using ChunkParam = std::tuple<int64_t, std::string>;  // tokens in a chunk, case

class GoldenChunks : public GoldenTest, public ::testing::WithParamInterface<ChunkParam> {};

TEST_P(GoldenChunks, ChunksOfAPromptDoNotChangeTheAnswer) {
  const auto& [chunk, name] = GetParam();
  const LoadedModel model = open(kMage / "hub");
  const GoldenCase golden = read_case(kMage, name);
  const GoldenPrompt input(model, golden);
  Session session(model, {.prefill_chunk = chunk});
  const GenerateResult result = session.generate(input.prompt, input.pictures(), kGreedy);
  const StageMap want = read_stages(kMage / "goldens" / (name + ".safetensors"));
  EXPECT_EQ(result.token_ids, want.at("tokens").integers);
  EXPECT_EQ(result.text, golden.answer);
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
}

std::string chunks_name(const ::testing::TestParamInfo<ChunkParam>& info) {
  return fmt::format("{}_{}", std::get<1>(info.param), std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GoldenChunks,
                         ::testing::Combine(::testing::Values(1, 7, 64, 100000),
                                            ::testing::Values("one_picture", "two_pictures",
                                                              "four_pictures")),
                         chunks_name);
// Not token by token: that takes a minute in a sanitizer build.
INSTANTIATE_TEST_SUITE_P(LongSizes, GoldenChunks,
                         ::testing::Combine(::testing::Values(7, 64, 100000),
                                            ::testing::Values("long")),
                         chunks_name);

// The conversation goes on: its picture is not encoded again, what is in the cache not computed
// again, and the answer is that to the whole conversation.
TEST_F(GoldenTest, ASecondQuestionReusesThePicture) {
  const LoadedModel model = open(kMage / "hub");
  const GoldenPrompt first(model, read_case(kMage, "one_picture"));
  const GoldenCase golden = read_case(kMage, "second_turn");
  const GoldenPrompt second(model, golden);
  Session session(model, {});
  EXPECT_GT(session.generate(first.prompt, first.pictures(), kGreedy).timings.vision_ms, 0);
  const GenerateResult result = session.generate(second.prompt, second.pictures(), kGreedy);
  EXPECT_EQ(result.timings.vision_ms, 0);
  EXPECT_LT(
      result.timings.prefill_tokens,
      static_cast<int64_t>(second.prompt.token_ids.size() - first.prompt.token_ids.size()) + 8);

  const StageMap want = read_stages(kMage / "goldens" / "second_turn.safetensors");
  EXPECT_EQ(second.prompt.token_ids, want.at("input_ids").integers);
  EXPECT_EQ(result.token_ids, want.at("tokens").integers);
  EXPECT_EQ(result.text, golden.answer);

  // The same without a past.
  Session fresh(model, {});
  EXPECT_EQ(fresh.generate(second.prompt, second.pictures(), kGreedy).token_ids, result.token_ids);
}

// ---- several sequences in one step -------------------------------------------------------------

TEST_F(GoldenTest, SequencesInOneStepDoNotSeeEachOther) {
  const LoadedModel model = open(kMage / "hub");
  const std::vector<std::string> names = {"two_pictures", "one_picture", "text_only"};
  std::vector<GoldenPrompt> inputs;
  for (const std::string& name : names) inputs.emplace_back(model, read_case(kMage, name));
  std::vector<std::optional<models::VisualFeatures>> features;
  std::vector<ops::KvCache> caches;
  const models::ModelInfo& info = model.info();
  for (const GoldenPrompt& input : inputs) {
    features.emplace_back();
    if (!input.patches.empty()) features.back() = model.model->encode(input.pictures());
    caches.emplace_back(ops::KvCacheShape{
        .layers = info.layers, .kv_heads = info.kv_heads, .head_dim = info.head_dim});
  }
  const auto sequence = [&](size_t i, ops::KvCache& cache) {
    return models::SequenceInput{.token_ids = inputs[i].prompt.token_ids,
                                 .positions = inputs[i].prompt.positions,
                                 .visual = inputs[i].prompt.visual,
                                 .features = features[i] ? &*features[i] : nullptr,
                                 .cache = &cache,
                                 .logits = models::LogitsRows::kAll};
  };
  std::vector<models::SequenceInput> batch;
  for (size_t i = 0; i < inputs.size(); ++i) batch.push_back(sequence(i, caches[i]));
  models::mx::array together = model.model->forward(batch);
  together.eval();

  const float* row = together.data<float>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    ops::KvCache own(caches[i].shape());
    const models::SequenceInput single = sequence(i, own);
    models::mx::array alone = model.model->forward(std::span(&single, 1));
    alone.eval();
    const std::vector<float> want(alone.data<float>(), alone.data<float>() + alone.size());
    const std::vector<float> got(row, row + alone.size());
    EXPECT_LE(difference(got, want), 1e-5F * largest(want)) << names[i];
    const StageMap golden = read_stages(kMage / "goldens" / (names[i] + ".safetensors"));
    const Stage& logits = golden.at("logits");
    ASSERT_EQ(got.size(), logits.floats.size());
    EXPECT_LE(difference(got, logits.floats), kTolerance * largest(logits.floats)) << names[i];
    row += alone.size();
  }
}

// ---- the rest ----------------------------------------------------------------------------------

TEST_F(GoldenTest, APictureOf224PixelsTakes49Tokens) {
  const LoadedModel model = open(kMage / "hub");
  const image::Image red = image::load(kMage / "pictures" / "red_224x224.png");
  const image::Patches patches = model.processor->process(red);
  EXPECT_EQ(patches.grid, (image::Grid{1, 14, 14}));
  EXPECT_EQ(model.processor->image_tokens(patches.grid), 49);
  models::mx::array rows = model.model->encode(std::vector<const image::Patches*>{&patches}).main;
  rows.eval();
  EXPECT_EQ(rows.shape(), (models::mx::Shape{49, 128}));
  const std::vector<float> values(rows.data<float>(), rows.data<float>() + rows.size());
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }));
}

// Text alone, tied embeddings, two shards, a flat rope_theta.
TEST_F(GoldenTest, Qwen3EqualsTheReference) {
  const auto folder = fixtures("qwen3");
  for (const Backend backend : {Backend::kKernels, Backend::kStock}) {
    SCOPED_TRACE(backend_name(backend));
    const LoadedModel model = open(folder / "checkpoint", backend);
    const StageMap want = read_stages(folder / "golden.safetensors");
    expect_stages(dump(model, read_case(folder, "qwen3")), want);
  }
}

}  // namespace
}  // namespace mlxcel::engine
