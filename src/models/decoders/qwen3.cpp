#include "models/decoders/qwen3.h"

#include <mlx/ops.h>

#include <cmath>

#include "base/error.h"
#include "nn/rope.h"

namespace mlxcel::models {
namespace {

// Rows [begin, end) of x, whatever its rank.
mx::array rows(const mx::array& x, int64_t begin, int64_t end) {
  if (begin == 0 && end == x.shape(0)) return x;
  mx::Shape from(x.ndim(), 0);
  mx::Shape to = x.shape();
  from[0] = static_cast<int>(begin);
  to[0] = static_cast<int>(end);
  return mx::slice(x, from, to);
}

mx::array join(const std::vector<mx::array>& parts) {
  return parts.size() == 1 ? parts.front() : mx::concatenate(parts, 0);
}

mx::array heads_of(const mx::array& x, int64_t heads, int64_t dim) {
  return mx::reshape(x, {x.shape(0), static_cast<int>(heads), static_cast<int>(dim)});
}

// The embeddings of one sequence with its visual rows put in place, run by run.
mx::array with_visual_rows(const mx::array& embedded, const SequenceInput& sequence) {
  std::vector<mx::array> parts;
  int64_t feature = sequence.first_visual_row;
  const auto& visual = sequence.visual;
  for (size_t begin = 0; begin < visual.size();) {
    size_t end = begin;
    while (end < visual.size() && visual[end] == visual[begin]) ++end;
    const auto length = static_cast<int64_t>(end - begin);
    if (visual[begin] != 0) {
      if (sequence.features == nullptr || feature + length > sequence.features->main.shape(0)) {
        throw base::internal_error("more visual tokens than visual features");
      }
      parts.push_back(rows(sequence.features->main, feature, feature + length));
      feature += length;
    } else {
      parts.push_back(rows(embedded, static_cast<int64_t>(begin), static_cast<int64_t>(end)));
    }
    begin = end;
  }
  return join(parts);
}

}  // namespace

Qwen3Decoder::Qwen3Decoder(const Qwen3Config& config, const checkpoint::Weights& weights,
                           const ops::Context& context)
    : config_(config),
      context_(context),
      table_(weights.matrix("text.embed_tokens.weight")),
      norm_(weights, "text.norm", config.rms_norm_eps),
      frequencies_(nn::decoder_frequencies(config.rope_theta, config.head_dim)) {
  head_.weight = config.tied ? table_ : weights.matrix("head.weight");
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = "text.layers." + std::to_string(i) + ".";
    const auto linear = [&](const char* part) { return nn::Linear(weights, name + part); };
    const auto norm = [&](const char* part) {
      return nn::RmsNorm(weights, name + part, config.rms_norm_eps);
    };
    layers_.push_back(
        {.input_norm = norm("input_layernorm"),
         .qkv = {linear("self_attn.q_proj").params(), linear("self_attn.k_proj").params(),
                 linear("self_attn.v_proj").params()},
         .q_norm = norm("self_attn.q_norm"),
         .k_norm = norm("self_attn.k_norm"),
         .o_proj = linear("self_attn.o_proj"),
         .post_norm = norm("post_attention_layernorm"),
         .gate = linear("mlp.gate_proj"),
         .up = linear("mlp.up_proj"),
         .down = linear("mlp.down_proj")});
  }
}

mx::array Qwen3Decoder::embed(std::span<const SequenceInput> sequences) const {
  std::vector<mx::array> parts;
  for (const SequenceInput& sequence : sequences) {
    const mx::array embedded = ops::embedding(context_, table_, sequence.token_ids);
    parts.push_back(sequence.visual.empty() ? embedded : with_visual_rows(embedded, sequence));
  }
  return join(parts);
}

mx::array Qwen3Decoder::attention(const Layer& layer, int64_t index, const mx::array& hidden,
                                  const ops::RopeTables& rope,
                                  std::span<const SequenceInput> sequences,
                                  std::span<const int64_t> starts) const {
  const auto qkv = ops::linear_many(context_, layer.input_norm(context_, hidden), layer.qkv);
  const int64_t dim = config_.head_dim;
  const mx::array q =
      ops::rope(context_, layer.q_norm(context_, heads_of(qkv[0], config_.heads, dim)), rope);
  const mx::array k =
      ops::rope(context_, layer.k_norm(context_, heads_of(qkv[1], config_.kv_heads, dim)), rope);
  const mx::array v = heads_of(qkv[2], config_.kv_heads, dim);
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  std::vector<mx::array> parts;
  int64_t begin = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const int64_t end = begin + static_cast<int64_t>(sequences[s].token_ids.size());
    parts.push_back(ops::cached_attention(context_, *sequences[s].cache, index, starts[s],
                                          rows(q, begin, end), rows(k, begin, end),
                                          rows(v, begin, end), scale));
    begin = end;
  }
  return layer.o_proj(context_, join(parts), {.residual = &hidden});
}

mx::array Qwen3Decoder::forward(std::span<const SequenceInput> sequences, Stages* stages) const {
  std::vector<int32_t> positions;
  std::vector<int64_t> starts;
  for (const SequenceInput& sequence : sequences) {
    positions.insert(positions.end(), sequence.positions.begin(), sequence.positions.end());
    starts.push_back(sequence.cache->append(static_cast<int64_t>(sequence.token_ids.size())));
  }
  const ops::RopeTables rope = nn::decoder_rope(frequencies_, positions);
  mx::array hidden = embed(sequences);
  record(stages, "inputs_embeds", hidden);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    record(stages, "decoder.hidden." + std::to_string(i), hidden);
    hidden = attention(layer, static_cast<int64_t>(i), hidden, rope, sequences, starts);
    const mx::array gated = ops::linear_swiglu(context_, layer.post_norm(context_, hidden),
                                               layer.gate.params(), layer.up.params());
    hidden = layer.down(context_, gated, {.residual = &hidden});
  }
  record(stages, "decoder.hidden." + std::to_string(layers_.size()), hidden);

  std::vector<mx::array> wanted;
  int64_t begin = 0;
  for (const SequenceInput& sequence : sequences) {
    const int64_t end = begin + static_cast<int64_t>(sequence.token_ids.size());
    if (sequence.logits == LogitsRows::kAll) wanted.push_back(rows(hidden, begin, end));
    if (sequence.logits == LogitsRows::kLast) wanted.push_back(rows(hidden, end - 1, end));
    begin = end;
  }
  if (wanted.empty()) return hidden;
  const mx::array normed = norm_(context_, join(wanted));
  record(stages, "decoder.norm", normed);
  const mx::array logits = ops::linear(context_, normed, head_);
  record(stages, "logits", logits);
  return logits;
}

}  // namespace mlxcel::models
