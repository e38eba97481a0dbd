// The quantization block as mlx.nn.quantize and mlx-vlm read it, and blocks that they would choke
// on.
#include "checkpoint/quantization.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace mlxcel::checkpoint {
namespace {

QuantizationConfig parse(const std::string& text) {
  const base::Json document = base::parse_json(text, "c");
  return QuantizationConfig::parse(base::JsonField(document, "c"));
}

// "4/64", or "dense".
std::string spec(const QuantizationConfig& config, const std::string& module) {
  const auto found = config.spec_of(module);
  return found ? fmt::format("{}/{}", found->bits, found->group_size) : "dense";
}

TEST(Quantization, AbsentOrNullMeansDense) {
  for (const char* text : {"{}", R"({"quantization":null})", R"({"quantization_config":null})",
                           R"({"quantization":null,"quantization_config":null})"}) {
    EXPECT_TRUE(parse(text).empty()) << text;
    EXPECT_EQ(spec(parse(text), "a"), "dense") << text;
  }
}

TEST(Quantization, DefaultHoldsForEveryModule) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const auto config =
          parse(fmt::format(R"({{"quantization":{{"bits":{},"group_size":{}}}}})", bits, group));
      EXPECT_FALSE(config.empty());
      EXPECT_TRUE(config.overrides().empty());
      EXPECT_EQ(spec(config, "any.module"), fmt::format("{}/{}", bits, group));
    }
  }
}

TEST(Quantization, TwinNameIsReadWhenTheFirstIsAbsent) {
  EXPECT_EQ(spec(parse(R"({"quantization_config":{"bits":8,"group_size":32}})"), "a"), "8/32");
  EXPECT_EQ(
      spec(parse(R"({"quantization":null,"quantization_config":{"bits":8,"group_size":32}})"), "a"),
      "8/32");
  // MLX writes both; a scheme that the hub checkpoint had before does not count then.
  EXPECT_EQ(
      spec(
          parse(
              R"({"quantization":{"bits":4,"group_size":64},"quantization_config":{"quant_method":"fp8"}})"),
          "a"),
      "4/64");
}

TEST(Quantization, OverridesByModule) {
  const auto config = parse(R"({"quantization":{"bits":3,"group_size":32,"mode":"affine",
    "m.off":false, "m.on":true, "m.nothing":null,
    "m.both":{"bits":8,"group_size":128,"mode":"affine"},
    "m.bits":{"bits":6}, "m.group":{"group_size":128}, "m.nulls":{"bits":null,"mode":null,"more":1}, "m.none":{}}})");
  EXPECT_EQ(spec(config, "m"), "3/32");
  EXPECT_EQ(spec(config, "m.off"), "dense");
  EXPECT_EQ(spec(config, "m.on"), "3/32");
  EXPECT_EQ(spec(config, "m.nothing"), "3/32");
  EXPECT_EQ(spec(config, "m.both"), "8/128");
  // What an override leaves out is MLX's default, 4 bits in groups of 64, not the block's.
  EXPECT_EQ(spec(config, "m.bits"), "6/64");
  EXPECT_EQ(spec(config, "m.group"), "4/128");
  EXPECT_EQ(spec(config, "m.nulls"), "4/64");
  EXPECT_EQ(spec(config, "m.none"), "4/64");
  EXPECT_EQ(config.overrides().count("m.nothing"), 0U);
  EXPECT_EQ(config.overrides().size(), 7U);
}

TEST(Quantization, NamesOfATextModelHoldInsideItsWrapper) {
  const auto config =
      parse(R"({"quantization":{"bits":4,"group_size":64,"model.a":{"bits":8,"group_size":64},
    "model.b":false,"language_model.model.c":{"bits":6,"group_size":32},"model.c":{"bits":2,"group_size":32}}})");
  EXPECT_EQ(spec(config, "language_model.model.a"), "8/64");
  EXPECT_EQ(spec(config, "language_model.model.b"), "dense");
  EXPECT_EQ(spec(config, "language_model.model.c"), "6/32");  // the whole name goes first
  EXPECT_EQ(spec(config, "vision_tower.model.a"), "4/64");
}

struct BadBlock {
  std::string block;
  std::string message;
};

TEST(Quantization, RefusesBadBlocks) {
  const std::string bits = ", expected one of 2, 3, 4, 5, 6, 8";
  const std::string groups = ", expected one of 32, 64, 128";
  const std::vector<BadBlock> cases = {
      {"4", "c: 'quantization' is 4, expected an object"},
      {"[]", "c: 'quantization' is [], expected an object"},
      {"{}", "c: field 'quantization.bits' is missing"},
      {R"({"bits":4})", "c: field 'quantization.group_size' is missing"},
      {R"({"group_size":64})", "c: field 'quantization.bits' is missing"},
      {R"({"bits":0,"group_size":64})", "c: 'quantization.bits' is 0" + bits},
      {R"({"bits":1,"group_size":64})", "c: 'quantization.bits' is 1" + bits},
      {R"({"bits":7,"group_size":64})", "c: 'quantization.bits' is 7" + bits},
      {R"({"bits":-4,"group_size":64})", "c: 'quantization.bits' is -4" + bits},
      {R"({"bits":16,"group_size":64})", "c: 'quantization.bits' is 16" + bits},
      {R"({"bits":4294967300,"group_size":64})", "c: 'quantization.bits' is 4294967300" + bits},
      {R"({"bits":4.5,"group_size":64})", "c: 'quantization.bits' is 4.5, expected an integer"},
      {R"({"bits":"4","group_size":64})", "c: 'quantization.bits' is \"4\", expected an integer"},
      {R"({"bits":true,"group_size":64})", "c: 'quantization.bits' is true, expected an integer"},
      {R"({"bits":{},"group_size":64})", "c: 'quantization.bits' is {}, expected an integer"},
      {R"({"bits":4,"group_size":0})", "c: 'quantization.group_size' is 0" + groups},
      {R"({"bits":4,"group_size":16})", "c: 'quantization.group_size' is 16" + groups},
      {R"({"bits":4,"group_size":48})", "c: 'quantization.group_size' is 48" + groups},
      {R"({"bits":4,"group_size":-64})", "c: 'quantization.group_size' is -64" + groups},
      {R"({"bits":4,"group_size":32,"mode":"mxfp4"})",
       "c: 'quantization.mode' is 'mxfp4'; only 'affine' is supported"},
      {R"({"bits":4,"group_size":32,"mode":"a\nb"})",
       "c: 'quantization.mode' is 'a\\x0Ab'; only 'affine' is supported"},
      {R"({"bits":4,"group_size":32,"mode":4})", "c: 'quantization.mode' is 4, expected a string"},
      {R"({"bits":4,"group_size":32,"m":{"bits":7}})",
       "c: 'quantization', module 'm': 'bits' is 7" + bits},
      {R"({"bits":4,"group_size":32,"m":{"group_size":0}})",
       "c: 'quantization', module 'm': 'group_size' is 0" + groups},
      {R"({"bits":4,"group_size":32,"m\n":{"bits":"8"}})",
       "c: 'quantization', module 'm\\x0A': 'bits' is \"8\", expected an integer"},
      {R"({"bits":4,"group_size":32,"m":{"mode":"nvfp4"}})",
       "c: 'quantization', module 'm': 'mode' is 'nvfp4'; only 'affine' is supported"},
      {R"({"bits":4,"group_size":32,"m":8})",
       "c: 'quantization', module 'm' is 8, expected true or false"},
      {R"({"bits":4,"group_size":32,"m":"false"})",
       "c: 'quantization', module 'm' is \"false\", expected true or false"},
      {R"({"bits":4,"group_size":32,"m":[]})",
       "c: 'quantization', module 'm' is [], expected true or false"},
  };
  for (const BadBlock& bad : cases) {
    EXPECT_EQ(base::message_of([&] { parse(R"({"quantization":)" + bad.block + "}"); }),
              bad.message)
        << bad.block;
  }
}

TEST(Quantization, RefusesOtherSchemesByName) {
  const auto message = [](const std::string& block) {
    return base::message_of([&] { parse(R"({"quantization_config":)" + block + "}"); });
  };
  const std::string only = "; only MLX affine quantisation is supported";
  EXPECT_EQ(message(R"({"quant_method":"gptq","bits":4,"group_size":128})"),
            "c: 'quantization_config.quant_method' is 'gptq'" + only);
  EXPECT_EQ(message(R"({"quant_method":"a\u2028"})"),
            "c: 'quantization_config.quant_method' is 'a\\xE2\\x80\\xA8'" + only);
  EXPECT_EQ(message(R"({"quant_method":5})"),
            "c: 'quantization_config.quant_method' is 5, expected a string");
  EXPECT_EQ(message("7"), "c: 'quantization_config' is 7, expected an object");
  EXPECT_EQ(message(R"({"bits":7,"group_size":64})"),
            "c: 'quantization_config.bits' is 7, expected one of 2, 3, 4, 5, 6, 8");
}

}  // namespace
}  // namespace mlxcel::checkpoint
