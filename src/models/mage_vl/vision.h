// Mage-ViT and its merger: patch rows to one row of the decoder's width for each 2x2 window.
// Specification: 4:6:6 three-axis RoPE on adjacent lanes, pre-norm blocks with exact GELU,
// attention inside windows of `frame_windows_size` frames of one picture, no norm after the last
// block.
#pragma once

#include <span>
#include <vector>

#include "models/mage_vl/config.h"
#include "models/model.h"
#include "nn/layers.h"
#include "nn/rope.h"

namespace mlxcel::models {

// Bounds of the attention blocks over the packed patch rows: each picture alone, cut into windows
// of `frame_window` frames. Begins with 0, ends with the number of rows.
std::vector<int64_t> mage_attention_blocks(std::span<const image::Grid> grids,
                                           int64_t frame_window);

class MageVision {
 public:
  MageVision(const MageVisionConfig& config, const checkpoint::Weights& weights,
             const ops::Context& context);

  // Rows of all pictures -> [patches / 4, out_hidden]. Throws kBadInput for rows of another width.
  mx::array forward(std::span<const image::Patches* const> pictures, Stages* stages) const;

 private:
  struct Layer {
    nn::LayerNorm norm1;
    std::vector<ops::LinearParams> qkv;
    nn::Linear proj;
    nn::LayerNorm norm2;
    nn::Linear fc1;
    nn::Linear fc2;
  };

  MageVisionConfig config_;
  ops::Context context_;
  ops::LinearParams patch_embedding_;
  nn::LayerNorm norm_pre_;
  std::vector<Layer> layers_;
  nn::LayerNorm merger_norm_;
  nn::Linear merger_in_;
  nn::Linear merger_out_;
  nn::AxisFrequencies frequencies_;
};

}  // namespace mlxcel::models
