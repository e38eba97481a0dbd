#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "models/mage_vl/config.h"
#include "models/qwen3/config.h"

namespace mlxcel::models {
namespace {

// The published config, shortened to what is read.
base::Json mage_json() {
  return base::parse_json(R"({
    "model_type": "mage_vl", "image_token_id": 151655, "video_token_id": 151656, "vision_start_token_id": 151652,
    "vision_end_token_id": 151653, "bos_token_id": 151643, "eos_token_id": 151645, "tie_word_embeddings": false,
    "text_config": {"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "intermediate_size": 9728,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6, "vocab_size": 151936,
      "max_position_embeddings": 262144, "rope_parameters": {"rope_theta": 5000000, "rope_type": "default"},
      "attention_bias": false, "tie_word_embeddings": false},
    "vision_config": {"model_type": "mage_vl_vision", "hidden_size": 1024, "num_hidden_layers": 24,
      "num_attention_heads": 16, "intermediate_size": 4096, "patch_size": 16, "image_size": 448, "num_channels": 3,
      "layer_norm_eps": 1e-6, "layer_norm_type": "layer_norm", "hidden_act": "gelu", "rope_theta": 10000.0,
      "spatial_merge_size": 2, "temporal_patch_size": 1, "out_hidden_size": 2560, "frame_windows_size": 4,
      "use_head": false, "use_patch_position_encoding": false, "max_position_embeddings": 8192}})",
                          "config.json");
}

const MageVlConfig& parse(const base::Json& json, std::unique_ptr<FamilyConfig>& keep) {
  keep = parse_mage_vl({json, "config.json"});
  return dynamic_cast<const MageVlConfig&>(*keep);
}

std::string error_of(const base::Json& json) {
  try {
    parse_mage_vl({json, "config.json"});
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MageVlConfig, ReadsThePublishedDimensions) {
  std::unique_ptr<FamilyConfig> keep;
  const MageVlConfig& config = parse(mage_json(), keep);
  EXPECT_EQ(config.info.eos_ids, (std::vector<int32_t>{151645, 151643}));
  EXPECT_EQ(config.info.suppressed_ids, (std::vector<int32_t>{151652, 151653, 151655, 151656}));
  EXPECT_EQ(config.vision.head_dim(), 64);
  EXPECT_EQ(config.vision.patch_width(), 768);
  EXPECT_FALSE(config.text.tied);
}

TEST(MageVlConfig, RopeBaseComesFromNestedParameters) {
  std::unique_ptr<FamilyConfig> keep;
  EXPECT_EQ(parse(mage_json(), keep).text.rope_theta, 5e6F);
  base::Json flat = mage_json();
  flat["text_config"]["rope_theta"] = 1e6;
  EXPECT_EQ(parse(flat, keep).text.rope_theta, 1e6F);
}

TEST(MageVlConfig, AMissingRopeBaseIsAnErrorNeverADefault) {
  base::Json json = mage_json();
  json["text_config"]["rope_parameters"].erase("rope_theta");
  EXPECT_EQ(error_of(json),
            "config.json: 'text_config' has neither 'rope_theta' nor 'rope_parameters.rope_theta'");
  json["text_config"].erase("rope_parameters");
  EXPECT_EQ(error_of(json),
            "config.json: 'text_config' has neither 'rope_theta' nor 'rope_parameters.rope_theta'");
}

TEST(MageVlConfig, RefusesWhatItDoesNotImplementByName) {
  struct Case {
    const char* pointer;
    base::Json value;
    const char* message;
  };
  const Case cases[] = {
      {"/vision_config/use_patch_position_encoding", true,
       "config.json: 'vision_config.use_patch_position_encoding' is true, which is not supported"},
      {"/vision_config/use_head", true,
       "config.json: 'vision_config.use_head' is true, which is not supported"},
      {"/vision_config/layer_norm_type", "rms_norm",
       "config.json: 'vision_config.layer_norm_type' is 'rms_norm'; only 'layer_norm' is "
       "supported"},
      {"/vision_config/hidden_act", "gelu_pytorch_tanh",
       "config.json: 'vision_config.hidden_act' is 'gelu_pytorch_tanh'; only 'gelu' is supported"},
      {"/vision_config/temporal_patch_size", 2,
       "config.json: 'vision_config.temporal_patch_size' is 2; only 1 is supported"},
      {"/vision_config/out_hidden_size", 2048,
       "config.json: 'vision_config.out_hidden_size' is 2048, expected text_config.hidden_size, "
       "2560"},
      {"/vision_config/num_attention_heads", 0,
       "config.json: 'vision_config.num_attention_heads' is 0, expected an integer from 1 to 1024"},
      {"/vision_config/num_attention_heads", 64,
       "config.json: 'vision_config': hidden_size 1024 over num_attention_heads 64 must be a "
       "multiple of 32"},
      {"/text_config/model_type", "qwen2",
       "config.json: 'text_config.model_type' is 'qwen2'; only 'qwen3' is supported"},
      {"/text_config/rope_parameters/rope_type", "yarn",
       "config.json: 'text_config.rope_parameters' asks for rope scaling of type 'yarn', which is "
       "not supported"},
      {"/text_config/attention_bias", true,
       "config.json: 'text_config.attention_bias' is true, which is not supported"},
      {"/text_config/num_key_value_heads", 5,
       "config.json: 'text_config': num_attention_heads 32 is no multiple of num_key_value_heads "
       "5"},
      {"/text_config/head_dim", 127,
       "config.json: 'text_config.head_dim' is 127, expected an even number"},
      {"/text_config/hidden_size", -1,
       "config.json: 'text_config.hidden_size' is -1, expected an integer from 1 to 131072"},
      {"/text_config/rope_parameters/rope_theta", 0,
       "config.json: 'text_config': the rope base is 0, expected a number from 1 to 1e12"},
      {"/image_token_id", 200000,
       "config.json: 'image_token_id' is 200000, expected an integer from 0 to 151935"},
  };
  for (const Case& c : cases) {
    base::Json json = mage_json();
    json[base::Json::json_pointer(c.pointer)] = c.value;
    EXPECT_EQ(error_of(json), c.message);
  }
}

TEST(MageVlConfig, NamesAMissingField) {
  base::Json json = mage_json();
  json.erase("image_token_id");
  EXPECT_EQ(error_of(json), "config.json: field 'image_token_id' is missing");
  json = mage_json();
  json.erase("vision_config");
  EXPECT_EQ(error_of(json), "config.json: field 'vision_config' is missing");
}

TEST(Qwen3Config, TiedHeadIsOptional) {
  base::Json json = mage_json()["text_config"];
  json["tie_word_embeddings"] = true;
  const auto config = parse_qwen3_family({json, "config.json"});
  EXPECT_TRUE(config->schema.rows.back().optional);
  EXPECT_EQ(config->info.images.has_value(), false);
}

}  // namespace
}  // namespace mlxcel::models
