// The Qwen3 decoder: pre-norm blocks, RMS norm on each head of q and k before RoPE, SwiGLU.
// Reference: transformers, models/qwen3.
#pragma once

#include <span>
#include <vector>

#include "models/decoders/qwen3_config.h"
#include "models/model.h"
#include "nn/layers.h"

namespace mlxcel::models {

class Qwen3Decoder {
 public:
  Qwen3Decoder(const Qwen3Config& config, const checkpoint::Weights& weights,
               const ops::Context& context);

  // One step over packed sequences, see Model::forward. Rows of visual tokens are taken from the
  // sequence's features instead of the embedding table.
  mx::array forward(std::span<const SequenceInput> sequences, Stages* stages) const;

 private:
  struct Layer {
    nn::RmsNorm input_norm;
    std::vector<ops::LinearParams> qkv;
    nn::RmsNorm q_norm;
    nn::RmsNorm k_norm;
    nn::Linear o_proj;
    nn::RmsNorm post_norm;
    nn::Linear gate;
    nn::Linear up;
    nn::Linear down;
  };

  mx::array embed(std::span<const SequenceInput> sequences) const;
  mx::array attention(const Layer& layer, int64_t index, const mx::array& hidden,
                      const ops::RopeTables& rope, std::span<const SequenceInput> sequences,
                      std::span<const int64_t> starts) const;

  Qwen3Config config_;
  ops::Context context_;
  checkpoint::Matrix table_;
  std::vector<Layer> layers_;
  nn::RmsNorm norm_;
  ops::LinearParams head_;
  std::vector<float> frequencies_;
};

}  // namespace mlxcel::models
