// Resolving a schema: against checkpoints that torch and MLX wrote, and against tensors that do not
// fit.
#include "checkpoint/weights.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/json.h"
#include "checkpoint/testing.h"

namespace mlxcel::checkpoint {
namespace {

using base::DType;
using base::Json;

const std::string kFixtures = MLXCEL_SOURCE_DIR "/tests/fixtures/checkpoint/";

std::vector<float> floats(const Json& list) { return list.get<std::vector<float>>(); }

// The values that a view stands for, by the definition in weight_view.h.
std::vector<float> values_of(const kernels::WeightView& view) {
  const auto number = [&view](const void* from, int64_t i) {
    const char* base = static_cast<const char*>(from);
    float wide = 0;
    uint16_t narrow = 0;
    if (view.dtype == DType::kF32) {
      std::memcpy(&wide, base + 4 * i, sizeof(wide));
      return wide;
    }
    std::memcpy(&narrow, base + 2 * i, sizeof(narrow));
    return view.dtype == DType::kF16 ? base::f16_to_f32(narrow) : base::bf16_to_f32(narrow);
  };
  std::vector<float> values;
  for (int64_t i = 0; i < view.out * view.in; ++i) {
    if (!view.quantized()) {
      values.push_back(number(view.data, i));
      continue;
    }
    int q = 0;
    for (int64_t bit = 0; bit < view.bits; ++bit) {
      const int64_t at = i * view.bits + bit;
      q |= ((static_cast<const uint8_t*>(view.data)[at / 8] >> (at % 8)) & 1) << bit;
    }
    const int64_t group = i / view.group_size;
    values.push_back(number(view.scales, group) * static_cast<float>(q) +
                     number(view.biases, group));
  }
  return values;
}

Schema tower_schema() {
  return {.family = "tower",
          .rows = {{.name = "vision.patch.weight",
                    .shape = {4, 3, 2, 2, 2},
                    .role = TensorRole::kPatchKernel},
                   {.name = "vision.norm.weight", .shape = {4}, .role = TensorRole::kVector},
                   {.name = "vision.norm.bias",
                    .shape = {4},
                    .role = TensorRole::kVector,
                    .optional = true},
                   {.name = "vision.blocks.{}.proj.weight", .shape = {4, 6}, .count = 1},
                   {.name = "vision.side.{}.weight", .shape = {4, 6}, .count = 0}},
          .layouts = {{"hub",
                       {{"vision.patch.", "model.visual.patch_embed.proj."},
                        {"vision.", "model.visual."}}},
                      {"mlx",
                       {{"vision.patch.", "vision_tower.patch_embed.proj."},
                        {"vision.", "vision_tower."}}}},
          .ignored = {"inv_freq"}};
}

TEST(Weights, BothLayoutsGiveTheSameValues) {
  const Json expected = base::load_json(kFixtures + "tower.json");
  for (const std::string layout : {"hub", "mlx"}) {
    SCOPED_TRACE(layout);
    Weights weights =
        Weights::load(TensorSet::open(kFixtures + "tower_" + layout), tower_schema(), {});
    EXPECT_EQ(weights.layout(), layout);
    const Matrix& patch = weights.matrix("vision.patch.weight");
    EXPECT_EQ(patch.view.out, 4);
    EXPECT_EQ(patch.view.in, 24);
    EXPECT_EQ(values_of(patch.view), floats(expected["patch"]));
    EXPECT_EQ(*weights.vector("vision.norm.weight"), floats(expected["norm"]));
    // The set is gone by now: the matrix keeps its file mapped.
    EXPECT_EQ(values_of(weights.matrix("vision.blocks.0.proj.weight").view),
              floats(expected["proj"]));
    EXPECT_FALSE(weights.has("vision.norm.bias"));
    EXPECT_FALSE(weights.has("vision.side.0.weight"));
    EXPECT_EQ(weights.matrices().size(), 2U);
    EXPECT_EQ(base::message_of([&] { weights.vector("vision.norm.bias"); }),
              "no tensor 'vision.norm.bias' in the schema");
  }
}

TEST(Weights, QuantisedModulesGiveWhatMlxDequantises) {
  Schema schema{.family = "q", .layouts = {{"mlx", {}}}};
  for (const char* name : {"up.weight", "down.weight", "gate.weight", "head.weight"}) {
    schema.rows.push_back({.name = name, .shape = {2, 128}});
  }
  const Json config = base::load_json(kFixtures + "quantized/config.json");
  const Json expected = base::load_json(kFixtures + "quantized/expected.json");
  const Weights weights =
      Weights::load(TensorSet::open(kFixtures + "quantized"), schema,
                    QuantizationConfig::parse(base::JsonField(config, "config.json")));
  for (const auto& [name, wanted] : expected.items()) {
    SCOPED_TRACE(name);
    const kernels::WeightView& view = weights.matrix(name + ".weight").view;
    EXPECT_EQ(view.dtype, DType::kBF16);
    EXPECT_EQ(view.out, 2);
    EXPECT_EQ(view.in, 128);
    EXPECT_EQ(view.bits, wanted.at("bits").get<int>());
    EXPECT_EQ(view.group_size, wanted.at("group_size").get<int>());
    const std::vector<float> found = values_of(view);
    const std::vector<float> values = floats(wanted.at("values"));
    ASSERT_EQ(found.size(), values.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], values[i], 1e-7F) << i;
    const Matrix& all = weights.matrix(name + ".weight");
    const std::vector<float> second(found.begin() + 128, found.end());
    EXPECT_EQ(values_of(matrix_rows(all, 1, 2).view), second);
    EXPECT_EQ(values_of(matrix_rows(all, 0, 2).view), found);
    EXPECT_TRUE(values_of(matrix_rows(all, 2, 2).view).empty());
    EXPECT_EQ(base::message_of([&] { matrix_rows(all, 1, 3); }), "rows 1..3 of a matrix of 2 rows");
    EXPECT_EQ(base::message_of([&] { matrix_rows(all, -1, 1); }),
              "rows -1..1 of a matrix of 2 rows");
    EXPECT_EQ(base::message_of([&] { matrix_rows(all, 2, 1); }), "rows 2..1 of a matrix of 2 rows");
  }
}

TEST(Weights, ChannelsLastKernelEqualsChannelsFirst) {
  std::mt19937 random(7);
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {5, 3, 4, 2}, {2, 1, 3, 3}, {1, 3, 1, 2}, {3, 2, 4, 3, 5}}) {
    const int64_t out = dims[0];
    const int64_t channels = dims[1];
    int64_t area = 1;
    for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
    std::vector<float> first(static_cast<size_t>(out * channels * area));
    std::vector<float> last(first.size());
    for (int64_t i = 0; i < out * channels * area; ++i) {
      const int64_t o = i / (channels * area);
      const int64_t c = i / area % channels;
      const int64_t p = i % area;
      first[static_cast<size_t>(i)] = static_cast<float>(random());
      last[static_cast<size_t>(o * area * channels + p * channels + c)] =
          first[static_cast<size_t>(i)];
    }
    std::vector<int64_t> last_dims(dims.begin() + 2, dims.end());
    last_dims.insert(last_dims.begin(), out);
    last_dims.push_back(channels);
    const Schema schema{.family = "f",
                        .rows = {{.name = "k", .shape = dims, .role = TensorRole::kPatchKernel}},
                        .layouts = {{"mlx", {}}}};
    struct Stored {
      std::vector<int64_t> shape;
      const std::vector<float>* values;
    };
    for (const Stored& stored :
         {Stored{dims, &first}, {last_dims, &last}, {{out, channels * area}, &first}}) {
      const Tensor tensor{.name = "k",
                          .dtype = DType::kF32,
                          .shape = stored.shape,
                          .data = std::as_bytes(std::span(*stored.values))};
      const Weights weights = Weights::load(TensorSet::from_tensors({tensor}, "m"), schema, {});
      EXPECT_EQ(values_of(weights.matrix("k").view), first) << describe_shape(stored.shape);
    }
  }
}

TEST(Weights, HeadersAloneAreCheckedButNotKept) {
  const std::string folder = kFixtures + "tower_mlx";
  const Weights weights =
      Weights::load(TensorSet::open(folder), tower_schema(), {}, WeightContent::kHeaders);
  EXPECT_EQ(weights.matrices().size(), 2U);
  EXPECT_EQ(weights.matrix("vision.patch.weight").view.in, 24);
  EXPECT_FALSE(weights.has("vision.norm.weight"));
  Schema other = tower_schema();
  other.rows[1].shape = {5};
  EXPECT_EQ(base::message_of([&] {
              Weights::load(TensorSet::open(folder), other, {}, WeightContent::kHeaders);
            }),
            folder + ": tensor 'vision_tower.norm.weight' is [4] F16, expected [5]");
}

// A tensor of zeros whose name, type and shape are all that matters.
Tensor zeros(const std::string& name, DType dtype, const std::vector<int64_t>& shape) {
  Tensor tensor{.name = name, .dtype = dtype, .shape = shape};
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(tensor.elements()) *
                                                        base::dtype_size(dtype));
  tensor.data = *bytes;
  tensor.owner = bytes;
  return tensor;
}

std::vector<Tensor> tower() {
  return {zeros("vision_tower.patch_embed.proj.weight", DType::kF16, {4, 2, 2, 2, 3}),
          zeros("vision_tower.norm.weight", DType::kBF16, {4}),
          zeros("vision_tower.blocks.0.proj.weight", DType::kF32, {4, 6})};
}

std::string load_message(std::vector<Tensor> tensors, const Schema& schema,
                         const QuantizationConfig& config = {}) {
  const TensorSet set = TensorSet::from_tensors(std::move(tensors), "m");
  return base::message_of([&] { Weights::load(set, schema, config); });
}

TEST(Weights, OptionalAndIgnoredTensors) {
  auto tensors = tower();
  tensors.push_back(zeros("vision_tower.norm.bias", DType::kF32, {4}));
  tensors.push_back(zeros("vision_tower.rope.inv_freq", DType::kI64, {9}));
  const Weights weights = Weights::load(TensorSet::from_tensors(tensors, "m"), tower_schema(), {});
  EXPECT_TRUE(weights.has("vision.norm.bias"));
  EXPECT_EQ(weights.vector("vision.norm.bias")->size(), 4U);
  EXPECT_FALSE(weights.has("vision.rope.inv_freq"));
}

struct BadTensors {
  const char* what;
  std::string name;            // of the tensor to replace, or to add
  std::optional<Tensor> with;  // nothing: removed
  std::string message;
};

TEST(Weights, NamesTensorFoundAndExpected) {
  const std::string patch = "vision_tower.patch_embed.proj.weight";
  const std::string norm = "vision_tower.norm.weight";
  const std::string proj = "vision_tower.blocks.0.proj.weight";
  const std::string bias = "vision_tower.norm.bias";
  const std::string floats_only = ", expected F32, F16 or BF16";
  const std::vector<BadTensors> cases = {
      {"missing matrix",
       proj,
       {},
       "m: tensor '" + proj + "' is missing, expected [4, 6] (tower in the mlx layout)"},
      {"missing vector",
       norm,
       {},
       "m: tensor '" + norm + "' is missing, expected [4] (tower in the mlx layout)"},
      {"missing kernel",
       patch,
       {},
       "m: tensor '" + patch + "' is missing, expected [4, 3, 2, 2, 2] (tower in the mlx layout)"},
      {"unknown", "vision_tower.blocks.1.proj.weight",
       zeros("vision_tower.blocks.1.proj.weight", DType::kU8, {4, 6}),
       "m: unknown tensor 'vision_tower.blocks.1.proj.weight' of [4, 6] U8; tower has none of this "
       "name in the mlx "
       "layout"},
      {"name of the other layout", "model.visual.norm.bias",
       zeros("model.visual.norm.bias", DType::kF32, {4}),
       "m: unknown tensor 'model.visual.norm.bias' of [4] F32; tower has none of this name in the "
       "mlx layout"},
      {"repeated row that is not there", "vision_tower.side.0.weight",
       zeros("vision_tower.side.0.weight", DType::kF32, {4, 6}),
       "m: unknown tensor 'vision_tower.side.0.weight' of [4, 6] F32; tower has none of this name "
       "in the mlx layout"},
      {"transposed", proj, zeros(proj, DType::kF32, {6, 4}),
       "m: tensor '" + proj + "' is [6, 4] F32, expected [4, 6]"},
      {"flat", proj, zeros(proj, DType::kF32, {24}),
       "m: tensor '" + proj + "' is [24] F32, expected [4, 6]"},
      {"more dimensions", proj, zeros(proj, DType::kF32, {4, 6, 1}),
       "m: tensor '" + proj + "' is [4, 6, 1] F32, expected [4, 6]"},
      {"matrix of integers", proj, zeros(proj, DType::kI8, {4, 6}),
       "m: tensor '" + proj + "' is [4, 6] I8" + floats_only},
      {"vector too long", norm, zeros(norm, DType::kF32, {5}),
       "m: tensor '" + norm + "' is [5] F32, expected [4]"},
      {"scalar for a vector", norm, zeros(norm, DType::kF32, {}),
       "m: tensor '" + norm + "' is [] F32, expected [4]"},
      {"vector of integers", norm, zeros(norm, DType::kI32, {4}),
       "m: tensor '" + norm + "' is [4] I32" + floats_only},
      {"optional of a wrong shape", bias, zeros(bias, DType::kF32, {3}),
       "m: tensor '" + bias + "' is [3] F32, expected [4]"},
      {"kernel of a wrong shape", patch, zeros(patch, DType::kF32, {4, 2, 2, 3, 2}),
       "m: tensor '" + patch +
           "' is [4, 2, 2, 3, 2] F32, expected [4, 3, 2, 2, 2] or [4, 2, 2, 2, 3]"},
      {"kernel of integers", patch, zeros(patch, DType::kU8, {4, 3, 2, 2, 2}),
       "m: tensor '" + patch + "' is [4, 3, 2, 2, 2] U8" + floats_only},
  };
  ASSERT_EQ(load_message(tower(), tower_schema()), "no error");
  for (const BadTensors& bad : cases) {
    SCOPED_TRACE(bad.what);
    auto tensors = tower();
    std::erase_if(tensors, [&](const Tensor& tensor) { return tensor.name == bad.name; });
    if (bad.with) tensors.push_back(*bad.with);
    EXPECT_EQ(load_message(tensors, tower_schema()), bad.message);
  }
}

Schema linear(int64_t out, int64_t in) {
  return {
      .family = "q", .rows = {{.name = "a.weight", .shape = {out, in}}}, .layouts = {{"mlx", {}}}};
}

QuantizationConfig quantization(const std::string& block) {
  const Json document = base::parse_json(R"({"quantization":)" + block + "}", "c");
  return QuantizationConfig::parse(base::JsonField(document, "c"));
}

// A module of [3, 128] in 4 bits and groups of 64.
std::vector<Tensor> packed() {
  return {zeros("a.weight", DType::kU32, {3, 16}), zeros("a.scales", DType::kF16, {3, 2}),
          zeros("a.biases", DType::kF16, {3, 2})};
}

const std::string kFourBits = R"({"bits":4,"group_size":64})";

TEST(Weights, AcceptsEveryBitWidthAndGroup) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const std::vector<Tensor> tensors = {zeros("a.weight", DType::kU32, {3, 128 * bits / 32}),
                                           zeros("a.scales", DType::kF32, {3, 128 / group}),
                                           zeros("a.biases", DType::kF32, {3, 128 / group})};
      const auto config =
          quantization(fmt::format(R"({{"bits":{},"group_size":{}}})", bits, group));
      EXPECT_EQ(load_message(tensors, linear(3, 128), config), "no error") << bits << " " << group;
    }
  }
}

TEST(Weights, DenseModulesOfAQuantisedCheckpointStayDense) {
  const Weights weights =
      Weights::load(TensorSet::from_tensors({zeros("a.weight", DType::kF16, {3, 128})}, "m"),
                    linear(3, 128), quantization(kFourBits));
  EXPECT_FALSE(weights.matrix("a.weight").view.quantized());
}

TEST(Weights, RefusesQuantisedTensorsThatDoNotFit) {
  const auto with = [](const Tensor& tensor) {
    auto tensors = packed();
    std::erase_if(tensors, [&](const Tensor& old) { return old.name == tensor.name; });
    tensors.push_back(tensor);
    return tensors;
  };
  const auto without = [](const std::string& name) {
    auto tensors = packed();
    std::erase_if(tensors, [&](const Tensor& old) { return old.name == name; });
    return tensors;
  };
  const Schema schema = linear(3, 128);
  const auto config = quantization(kFourBits);
  ASSERT_EQ(load_message(packed(), schema, config), "no error");
  EXPECT_EQ(load_message(without("a.scales"), schema, config),
            "m: tensor 'a.scales' is missing, expected [3, 2]");
  EXPECT_EQ(load_message(without("a.biases"), schema, config),
            "m: tensor 'a.biases' is missing, expected [3, 2]");
  EXPECT_EQ(load_message(without("a.weight"), schema, config),
            "m: tensor 'a.weight' is missing, expected [3, 128] (q in the mlx layout)");
  EXPECT_EQ(load_message(with(zeros("a.weight", DType::kU32, {3, 15})), schema, config),
            "m: tensor 'a.weight' is [3, 15] U32, expected [3, 16]");
  EXPECT_EQ(load_message(with(zeros("a.weight", DType::kI32, {3, 16})), schema, config),
            "m: tensor 'a.weight' is [3, 16] I32, expected U32");
  EXPECT_EQ(load_message(with(zeros("a.weight", DType::kF16, {3, 128})), schema, config),
            "m: tensor 'a.weight' is [3, 128] F16, expected [3, 16]");
  EXPECT_EQ(load_message(with(zeros("a.scales", DType::kF16, {3, 4})), schema, config),
            "m: tensor 'a.scales' is [3, 4] F16, expected [3, 2]");
  EXPECT_EQ(load_message(with(zeros("a.scales", DType::kU8, {3, 2})), schema, config),
            "m: tensor 'a.scales' is [3, 2] U8, expected F32, F16 or BF16");
  EXPECT_EQ(load_message(with(zeros("a.biases", DType::kF16, {2, 3})), schema, config),
            "m: tensor 'a.biases' is [2, 3] F16, expected [3, 2]");
  EXPECT_EQ(load_message(with(zeros("a.biases", DType::kBF16, {3, 2})), schema, config),
            "m: tensor 'a.biases' is [3, 2] BF16, expected the type of its scales, F16");
  EXPECT_EQ(load_message(packed(), schema),
            "m: tensor 'a.weight' is quantised ([3, 16] U32), but config.json has no quantization "
            "for this module");
  EXPECT_EQ(load_message(packed(), schema, quantization(R"({"bits":4,"group_size":64,"a":false})")),
            "m: tensor 'a.weight' is quantised ([3, 16] U32), but config.json has no quantization "
            "for this module");
  EXPECT_EQ(
      load_message(packed(), schema, quantization(R"({"bits":4,"group_size":64,"a":{"bits":8}})")),
      "m: tensor 'a.weight' is [3, 16] U32, expected [3, 32]");
  EXPECT_EQ(load_message(packed(), schema, quantization(R"({"bits":4,"group_size":32})")),
            "m: tensor 'a.scales' is [3, 2] F16, expected [3, 4]");
  EXPECT_EQ(load_message(packed(), linear(3, 96), config),
            "m: tensor 'a.weight' has rows of 96, which groups of 64 do not divide");
}

// Dimensions come from a config: the largest that it may hold must not overflow anything.
TEST(Weights, HostileDimensionsAreRefusedWithoutOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 31;
  for (const int64_t in : {kHuge, kHuge - 1, kHuge - 32}) {
    const std::string shape = describe_shape(std::vector<int64_t>{kHuge, in});
    EXPECT_EQ(load_message({zeros("a.weight", DType::kF16, {3, 128})}, linear(kHuge, in)),
              "m: tensor 'a.weight' is [3, 128] F16, expected " + shape);
  }
  EXPECT_EQ(
      load_message(packed(), linear(kHuge, kHuge), quantization(R"({"bits":8,"group_size":32})")),
      "m: tensor 'a.weight' is [3, 16] U32, expected [2147483648, 536870912]");
  const auto kernel = [](const std::vector<int64_t>& shape) {
    return Schema{.family = "f",
                  .rows = {{.name = "k", .shape = shape, .role = TensorRole::kPatchKernel}},
                  .layouts = {{"mlx", {}}}};
  };
  EXPECT_EQ(load_message({zeros("k", DType::kF32, {2, 2})}, kernel({kHuge, kHuge, kHuge, kHuge})),
            "m: tensor 'k' is to be [2147483648, 2147483648, 2147483648, 2147483648], which is "
            "empty or overflows");
  EXPECT_EQ(load_message({zeros("k", DType::kF32, {2, 2})}, kernel({kHuge, 3, kHuge, 2})),
            "m: tensor 'k' is [2, 2] F32, expected [2147483648, 3, 2147483648, 2] or [2147483648, "
            "2147483648, 2, 3]");
  EXPECT_EQ(load_message({zeros("k", DType::kF32, {2, 2, 2, 0})}, kernel({2, 0, 2, 2})),
            "m: tensor 'k' is to be [2, 0, 2, 2], which is empty or overflows");
  // A model of two thousand million layers fails at the first that is absent.
  Schema layers = linear(1, 1);
  layers.rows[0] = {.name = "l.{}.weight", .shape = {1, 1}, .count = kHuge};
  EXPECT_EQ(load_message({zeros("l.0.weight", DType::kF32, {1, 1})}, layers),
            "m: tensor 'l.1.weight' is missing, expected [1, 1] (q in the mlx layout)");
}

TEST(Widen, ConvertsFloatsAndRefusesIntegers) {
  const std::vector<uint16_t> halves = {0x3C00, 0xC100, 0x0001};
  const std::vector<uint16_t> brains = {0x3F80, 0xC020, 0x0001};
  const auto tensor = [](DType dtype, const std::vector<uint16_t>& bits) {
    return Tensor{.name = "t",
                  .dtype = dtype,
                  .shape = {static_cast<int64_t>(bits.size())},
                  .data = std::as_bytes(std::span(bits))};
  };
  EXPECT_EQ(widen(tensor(DType::kF16, halves)), (std::vector<float>{1.0F, -2.5F, 0x1p-24F}));
  EXPECT_EQ(widen(tensor(DType::kBF16, brains)), (std::vector<float>{1.0F, -2.5F, 0x1p-133F}));
  EXPECT_TRUE(widen(zeros("t", DType::kF32, {0, 4})).empty());
  EXPECT_EQ(base::message_of([&] { widen(zeros("t", DType::kU32, {2})); }),
            "tensor 't' is [2] U32, expected F32, F16 or BF16");
}

TEST(Schema, SpellsAndExpandsNames) {
  const Layout layout{"x", {{"text.layers.", "model.l."}, {"text.", "lm."}}};
  EXPECT_EQ(spell(layout, "text.layers.3.q"), "model.l.3.q");
  EXPECT_EQ(spell(layout, "text.norm"), "lm.norm");
  EXPECT_EQ(spell(layout, "vision.text.norm"), "vision.text.norm");
  EXPECT_EQ(expand({.name = "a.{}.b"}, 12), "a.12.b");
  EXPECT_EQ(expand({.name = "a.b"}, 12), "a.b");
}

}  // namespace
}  // namespace mlxcel::checkpoint
