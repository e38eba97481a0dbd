// A checkpoint's tensors, checked against the family's schema and ready for layers to pick up by
// their short names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/quantization.h"
#include "checkpoint/schema.h"
#include "checkpoint/tensor_set.h"
#include "kernels/weight_view.h"

namespace mlxcel::checkpoint {

// A matrix in the mapping. Copies share ownership.
struct Matrix {
  kernels::WeightView view;
  std::shared_ptr<const void> owner;
};

// Rows [begin, end) of a matrix, over the same storage.
Matrix matrix_rows(const Matrix& matrix, int64_t begin, int64_t end);

// A small tensor as f32. Copies share the values.
using Vector = std::shared_ptr<const std::vector<float>>;

// How much of a checkpoint is wanted: with kHeaders no weight is read, only checked by its header,
// and small tensors are left out.
enum class WeightContent { kAll, kHeaders };

class Weights {
 public:
  // Resolves every row of the schema. A tensor that is missing, unknown or of another shape is an
  // error naming the tensor, what was expected and what was found.
  static Weights load(const TensorSet& tensors, const Schema& schema,
                      const QuantizationConfig& quantization,
                      WeightContent content = WeightContent::kAll);

  // By short name, e.g. "text.layers.0.mlp.up_proj.weight". Absent: kInternal (optional ones: use
  // has).
  const Matrix& matrix(const std::string& name) const;
  const Vector& vector(const std::string& name) const;
  bool has(const std::string& name) const {
    return matrices_.count(name) != 0 || vectors_.count(name) != 0;
  }

  const std::string& layout() const { return layout_; }
  const std::map<std::string, Matrix>& matrices() const { return matrices_; }

 private:
  std::string layout_;
  std::map<std::string, Matrix> matrices_;
  std::map<std::string, Vector> vectors_;
};

// Values of a dense float tensor, widened. Throws kBadInput for integer tensors.
std::vector<float> widen(const Tensor& tensor);

}  // namespace mlxcel::checkpoint
