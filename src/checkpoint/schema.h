// The tensors of a model family as one table, from which loading, key mapping, shape checks and
// `inspect` all work. A family writes its rows once, in its own short names; a layout says how
// those names are spelt in a kind of checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::checkpoint {

enum class TensorRole {
  kMatrix,       // [out, in]; used in place, dense or quantised
  kVector,       // norm weights and biases; widened to f32 when loaded
  kPatchKernel,  // [out, channels, (time,) y, x], or channels last; becomes [out, c*t*y*x]
};

// One row: "text.layers.{}.mlp.up_proj.weight" stands for `count` tensors, {} from 0 to count - 1;
// count 0 is a name without {}.
struct TensorRow {
  std::string name;
  std::vector<int64_t> shape;  // as in the hub layout
  TensorRole role = TensorRole::kMatrix;
  int64_t count = 0;
  bool optional = false;
};

// How the short names begin in one kind of checkpoint.
struct NamePrefix {
  std::string_view ours;
  std::string_view theirs;
};
struct Layout {
  std::string_view name;  // "hub", "mlx"
  std::vector<NamePrefix> prefixes;
};

struct Schema {
  std::string family;
  std::vector<TensorRow> rows;
  std::vector<Layout> layouts;
  std::vector<std::string_view> ignored;  // names that end so carry no weights of their own
};

// The spelling of a short name in a layout.
std::string spell(const Layout& layout, const std::string& name);

// The name of the n-th tensor of a row.
std::string expand(const TensorRow& row, int64_t n);

}  // namespace mlxcel::checkpoint
