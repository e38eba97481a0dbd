#include "models/mage_vl/vision.h"

#include <mlx/ops.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace mlxcel::models {
namespace {

// The fused qkv layer as three layers over the same storage.
std::vector<ops::LinearParams> split_qkv(const nn::Linear& fused) {
  const ops::LinearParams& all = fused.params();
  const int64_t width = all.weight.view.out / 3;
  std::vector<ops::LinearParams> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const auto begin = all.bias->begin() + i * width;
    parts.push_back({checkpoint::matrix_rows(all.weight, i * width, (i + 1) * width),
                     std::make_shared<const std::vector<float>>(begin, begin + width)});
  }
  return parts;
}

mx::array pack_rows(std::span<const image::Patches* const> pictures, int64_t width) {
  std::vector<float> rows;
  for (const image::Patches* picture : pictures)
    rows.insert(rows.end(), picture->rows.begin(), picture->rows.end());
  const int count = static_cast<int>(static_cast<int64_t>(rows.size()) / width);
  return mx::array(rows.data(), {count, static_cast<int>(width)}, mx::float32);
}

}  // namespace

std::vector<int64_t> mage_attention_blocks(std::span<const image::Grid> grids,
                                           int64_t frame_window) {
  std::vector<int64_t> bounds = {0};
  for (const image::Grid& grid : grids) {
    const int64_t frame = int64_t{grid.h} * grid.w;
    for (int64_t t = 0; t < grid.t; t += frame_window) {
      bounds.push_back(bounds.back() + std::min(frame_window, grid.t - t) * frame);
    }
  }
  return bounds;
}

MageVision::MageVision(const MageVisionConfig& config, const checkpoint::Weights& weights,
                       const ops::Context& context)
    : config_(config),
      context_(context),
      patch_embedding_{weights.matrix("visual.embeddings.patch_embedding.weight"), nullptr},
      norm_pre_(weights, "visual.layernorm_pre", config.layer_norm_eps),
      merger_norm_(weights, "visual.merger.ln_q", config.layer_norm_eps),
      merger_in_(weights, "visual.merger.mlp.0"),
      merger_out_(weights, "visual.merger.mlp.2"),
      frequencies_(nn::axis_frequencies(config.rope_theta, config.head_dim())) {
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = "visual.encoder.layers." + std::to_string(i) + ".";
    layers_.push_back({.norm1 = nn::LayerNorm(weights, name + "layer_norm1", config.layer_norm_eps),
                       .qkv = split_qkv(nn::Linear(weights, name + "self_attn.qkv")),
                       .proj = nn::Linear(weights, name + "self_attn.proj"),
                       .norm2 = nn::LayerNorm(weights, name + "layer_norm2", config.layer_norm_eps),
                       .fc1 = nn::Linear(weights, name + "mlp.fc1"),
                       .fc2 = nn::Linear(weights, name + "mlp.fc2")});
  }
}

mx::array MageVision::forward(std::span<const image::Patches* const> pictures,
                              Stages* stages) const {
  std::vector<image::Grid> grids;
  std::vector<std::array<int32_t, 3>> positions;
  for (const image::Patches* picture : pictures) {
    if (static_cast<int64_t>(picture->rows.size()) !=
        picture->grid.patches() * config_.patch_width()) {
      throw base::bad_input("a picture has {} values for {} patches, expected {} each",
                            picture->rows.size(), picture->grid.patches(), config_.patch_width());
    }
    grids.push_back(picture->grid);
    const auto own = image::positions_from_grid(picture->grid, static_cast<int>(config_.merge));
    positions.insert(positions.end(), own.begin(), own.end());
  }
  const std::vector<int64_t> blocks = mage_attention_blocks(grids, config_.frame_window);
  const ops::RopeTables rope = nn::axis_rope(frequencies_, positions);
  const int count = static_cast<int>(positions.size());
  const int heads = static_cast<int>(config_.heads);
  const int dim = static_cast<int>(config_.head_dim());
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));

  const mx::array pixels = pack_rows(pictures, config_.patch_width());
  record(stages, "pixel_values", pixels);
  record(stages, "vision.position_ids", mx::array(positions.front().data(), {count, 3}, mx::int32));
  mx::array x = ops::linear(context_, pixels, patch_embedding_);
  record(stages, "vision.patch_embed", x);
  x = norm_pre_(context_, x);
  record(stages, "vision.layernorm_pre", x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto qkv = ops::linear_many(context_, layer.norm1(context_, x), layer.qkv);
    const auto split = [&](const mx::array& part) {
      return mx::reshape(part, {count, heads, dim});
    };
    const mx::array attended = ops::block_attention(
        context_, ops::rope(context_, split(qkv[0]), rope),
        ops::rope(context_, split(qkv[1]), rope), split(qkv[2]), blocks, scale);
    x = layer.proj(context_, attended, {.residual = &x});
    const mx::array inner =
        layer.fc1(context_, layer.norm2(context_, x), {.activation = ops::Activation::kGeluErf});
    x = layer.fc2(context_, inner, {.residual = &x});
    record(stages, "vision.block." + std::to_string(i), x);
  }

  const int fold = static_cast<int>(config_.merge * config_.merge);
  const mx::array folded =
      mx::reshape(merger_norm_(context_, x), {count / fold, fold * heads * dim});
  const mx::array merged = merger_out_(
      context_, merger_in_(context_, folded, {.activation = ops::Activation::kGeluErf}));
  record(stages, "vision.merger", merged);
  return merged;
}

}  // namespace mlxcel::models
