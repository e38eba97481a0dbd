#include "engine/dump.h"

#include <mlx/io.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "kernels/kernels.h"

namespace mlxcel::engine {
namespace {

namespace mx = mlx::core;

mx::array integers(const std::vector<int32_t>& values) {
  return mx::array(values.data(), {static_cast<int>(values.size())}, mx::int32);
}

mx::array grids_of(std::span<const image::Patches* const> pictures) {
  std::vector<int32_t> values;
  for (const image::Patches* picture : pictures) {
    values.insert(values.end(), {picture->grid.t, picture->grid.h, picture->grid.w});
  }
  return mx::reshape(integers(values), {static_cast<int>(pictures.size()), 3});
}

}  // namespace

void dump_stages(const LoadedModel& model, const PreparedPrompt& prompt,
                 std::span<const image::Patches* const> pictures, const DumpOptions& options,
                 const std::filesystem::path& output) {
  models::Stages stages;
  models::record(&stages, "input_ids", integers(prompt.token_ids));
  models::record(&stages, "position_ids", integers(prompt.positions));
  std::optional<models::VisualFeatures> features;
  if (!pictures.empty()) {
    models::record(&stages, "grid_thw", grids_of(pictures));
    features = model.model->encode(pictures, &stages);
  }
  const models::ModelInfo& info = model.info();
  ops::KvCache cache({.layers = info.layers,
                      .kv_heads = info.kv_heads,
                      .head_dim = info.head_dim,
                      .dtype = options.kv_dtype});
  mx::array logits = model.model->forward(
      std::vector<models::SequenceInput>{{.token_ids = prompt.token_ids,
                                          .positions = prompt.positions,
                                          .visual = prompt.visual,
                                          .features = features ? &*features : nullptr,
                                          .cache = &cache,
                                          .logits = models::LogitsRows::kAll}},
      &stages);
  logits.eval();

  // Plain greedy decoding as the references do it: nothing suppressed, no end.
  std::vector<int32_t> tokens;
  const int64_t vocab = logits.shape(-1);
  const float* last = logits.data<float>() + (static_cast<int64_t>(logits.size()) - vocab);
  while (static_cast<int64_t>(tokens.size()) < options.max_tokens) {
    tokens.push_back(static_cast<int32_t>(kernels::argmax(last, vocab)));
    if (static_cast<int64_t>(tokens.size()) == options.max_tokens) break;
    const auto position =
        static_cast<int32_t>(prompt.next_position + static_cast<int64_t>(tokens.size()) - 1);
    const models::SequenceInput input = {.token_ids = std::span(&tokens.back(), 1),
                                         .positions = std::span(&position, 1),
                                         .cache = &cache};
    logits = model.model->forward(std::span(&input, 1));
    logits.eval();
    last = logits.data<float>();
  }
  models::record(&stages, "tokens", integers(tokens));

  std::unordered_map<std::string, mx::array> arrays;
  for (const auto& [name, array] : stages.arrays) arrays.insert_or_assign(name, array);
  try {
    mx::save_safetensors(output.string(), arrays);
  } catch (const std::exception& error) {
    throw base::resource_error("{}: cannot write: {}", output.string(), error.what());
  }
}

}  // namespace mlxcel::engine
