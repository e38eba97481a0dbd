// The interface of every model. All state of a conversation comes in with the arguments; a model
// itself is constant after loading and is shared by all sequences.
#pragma once

#include <mlx/array.h>

#include <cstdint>
#include <span>
#include <vector>

#include "image/patchify.h"
#include "models/family_config.h"
#include "models/stages.h"
#include "ops/kv_cache.h"

namespace mlxcel::models {

namespace mx = mlx::core;

// What the vision tower makes of the pictures of one prompt: one row for each visual token, in the
// order of the placeholders. Side features are for families that inject them into deeper layers, in
// order.
struct VisualFeatures {
  mx::array main;  // [visual tokens, hidden]
  std::vector<mx::array> side;
};

enum class LogitsRows { kNone, kLast, kAll };

// The tokens of one sequence in one step: a chunk of its prompt, or the token it generated last.
struct SequenceInput {
  std::span<const int32_t> token_ids;
  std::span<const int32_t> positions;  // one for each token
  std::span<const uint8_t> visual;  // 1 where the token stands for a row of `features`; empty: none
  const VisualFeatures* features = nullptr;
  int64_t first_visual_row = 0;  // row of the first visual token of this chunk
  ops::KvCache* cache = nullptr;
  LogitsRows logits = LogitsRows::kLast;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;

  // The pictures of one prompt, packed; each attends only to itself. Throws kUnsupported for
  // families without a tower.
  virtual VisualFeatures encode(std::span<const image::Patches* const> pictures,
                                Stages* stages = nullptr) const = 0;

  // One step over packed sequences -> logits [rows asked for, vocab], sequence by sequence. When no
  // row is asked for, the result is the last hidden state, which must still be evaluated: that
  // fills the caches.
  virtual mx::array forward(std::span<const SequenceInput> sequences,
                            Stages* stages = nullptr) const = 0;
};

}  // namespace mlxcel::models
