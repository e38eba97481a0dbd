// Writes every stage of one prompt to a file, to be compared with a reference.
#pragma once

#include <filesystem>
#include <span>

#include "engine/session.h"

namespace mlxcel::engine {

struct DumpOptions {
  int64_t max_tokens = 32;  // greedy tokens, computed past any end of the answer
  base::DType kv_dtype = base::DType::kF32;
};

// Stages as f32 or i32, named as docs/development.md says, in safetensors form. The prompt runs as one
// chunk.
void dump_stages(const LoadedModel& model, const PreparedPrompt& prompt,
                 std::span<const image::Patches* const> pictures, const DumpOptions& options,
                 const std::filesystem::path& output);

}  // namespace mlxcel::engine
