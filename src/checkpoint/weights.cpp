#include "checkpoint/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"

namespace mlxcel::checkpoint {
namespace {

using base::bad_input;
using base::DType;

constexpr std::string_view kWeightSuffix = ".weight";

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool ends_with_any(const std::string& name, const std::vector<std::string_view>& suffixes) {
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

// Nothing when the product leaves int64: the dimensions come from a config.
std::optional<int64_t> product(std::span<const int64_t> dims) {
  int64_t total = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(total, dim, &total)) return std::nullopt;
  }
  return total;
}

// A channels-last kernel as [out, channels * area] in f32: a copy, since no kernel reads that
// order.
Matrix channels_first(std::span<const int64_t> hub, int64_t width, const Tensor& tensor) {
  const std::vector<float> source = widen(tensor);
  const int64_t channels = hub[1];
  const int64_t area = width / channels;
  auto values = std::make_shared<std::vector<float>>(source.size());
  for (int64_t o = 0; o < hub[0]; ++o) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < area; ++p) {
        (*values)[static_cast<size_t>((o * channels + c) * area + p)] =
            source[static_cast<size_t>((o * area + p) * channels + c)];
      }
    }
  }
  return {{.data = values->data(), .dtype = DType::kF32, .out = hub[0], .in = width}, values};
}

// Resolution of one schema against one set of tensors; remembers which tensors were used.
class Resolver {
 public:
  Resolver(const TensorSet& tensors, const Schema& schema, const QuantizationConfig& quantization)
      : tensors_(tensors), schema_(schema), quantization_(quantization), layout_(pick_layout()) {}

  const Layout& layout() const { return layout_; }

  // Nothing when an optional tensor is absent.
  const Tensor* take(const TensorRow& row, const std::string& name) {
    const std::string spelt = spell(layout_, name);
    const Tensor* tensor = tensors_.find(spelt);
    if (tensor == nullptr) {
      if (row.optional) return nullptr;
      throw bad_input("{}: tensor '{}' is missing, expected {} ({} in the {} layout)", where(),
                      spelt, describe_shape(row.shape), schema_.family, layout_.name);
    }
    used_.insert(spelt);
    return tensor;
  }

  Matrix matrix(const TensorRow& row, const std::string& name, const Tensor& tensor) {
    const std::string spelt = spell(layout_, name);
    const std::string module = spelt.substr(0, spelt.rfind(kWeightSuffix));
    const bool packed = tensor.dtype == DType::kU32 || tensors_.contains(module + ".scales");
    if (spelt.ends_with(kWeightSuffix) && packed) {
      return quantized_matrix(row, module, tensor);
    }
    check_shape(tensor, row.shape);
    check_float(tensor);
    return {{.data = tensor.data.data(),
             .dtype = tensor.dtype,
             .out = row.shape.at(0),
             .in = row.shape.at(1)},
            tensor.owner};
  }

  void check_vector(const TensorRow& row, const Tensor& tensor) const {
    check_shape(tensor, row.shape);
    check_float(tensor);
  }

  // Accepts [out, c, (t,) y, x], the same flattened, and the same with channels last.
  Matrix patch_kernel(const TensorRow& row, const Tensor& tensor, WeightContent content) const {
    const std::vector<int64_t>& hub = row.shape;
    std::vector<int64_t> channels_last = {hub[0]};
    channels_last.insert(channels_last.end(), hub.begin() + 2, hub.end());
    channels_last.push_back(hub[1]);
    const auto width = product(std::span(hub).subspan(1));
    if (!width || *width < 1) {
      throw bad_input("{}: tensor '{}' is to be {}, which is empty or overflows", where(),
                      tensor.name, describe_shape(hub));
    }
    check_float(tensor);
    const bool flat = tensor.shape == std::vector<int64_t>{hub[0], *width};
    const bool reordered = tensor.shape == channels_last;
    if (tensor.shape != hub && !flat && !reordered) {
      throw bad_input("{}: tensor '{}' is {}, expected {} or {}", where(), tensor.name,
                      describe(tensor), describe_shape(hub), describe_shape(channels_last));
    }
    if (reordered && content == WeightContent::kAll) return channels_first(hub, *width, tensor);
    return {{.data = tensor.data.data(), .dtype = tensor.dtype, .out = hub[0], .in = *width},
            tensor.owner};
  }

  void refuse_unknown() const {
    for (const auto& [name, tensor] : tensors_.tensors()) {
      if (used_.count(name) != 0 || ends_with_any(name, schema_.ignored)) continue;
      throw bad_input("{}: unknown tensor '{}' of {}; {} has none of this name in the {} layout",
                      where(), name, describe(tensor), schema_.family, layout_.name);
    }
  }

 private:
  std::string where() const { return tensors_.folder().string(); }

  // The layout that spells most of the names that are there.
  const Layout& pick_layout() const {
    const Layout* best = &schema_.layouts.front();
    size_t most = 0;
    for (const Layout& layout : schema_.layouts) {
      size_t found = 0;
      for (const TensorRow& row : schema_.rows) {
        if (tensors_.contains(spell(layout, expand(row, 0)))) ++found;
      }
      if (found > most) {
        most = found;
        best = &layout;
      }
    }
    return *best;
  }

  void check_shape(const Tensor& tensor, std::span<const int64_t> shape) const {
    if (!std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end())) {
      throw bad_input("{}: tensor '{}' is {}, expected {}", where(), tensor.name, describe(tensor),
                      describe_shape(shape));
    }
  }

  void check_float(const Tensor& tensor) const {
    if (!is_float(tensor.dtype)) {
      throw bad_input("{}: tensor '{}' is {}, expected F32, F16 or BF16", where(), tensor.name,
                      describe(tensor));
    }
  }

  Matrix quantized_matrix(const TensorRow& row, const std::string& module, const Tensor& packed) {
    const auto spec = quantization_.spec_of(module);
    if (!spec) {
      throw bad_input(
          "{}: tensor '{}' is quantised ({}), but config.json has no quantization for this module",
          where(), packed.name, describe(packed));
    }
    const int64_t out = row.shape.at(0);
    const int64_t in = row.shape.at(1);
    if (in % spec->group_size != 0) {
      throw bad_input("{}: tensor '{}' has rows of {}, which groups of {} do not divide", where(),
                      packed.name, in, spec->group_size);
    }
    const int64_t packed_shape[] = {out, in * spec->bits / 32};
    const int64_t group_shape[] = {out, in / spec->group_size};
    check_shape(packed, packed_shape);
    if (packed.dtype != DType::kU32) {
      throw bad_input("{}: tensor '{}' is {}, expected U32", where(), packed.name,
                      describe(packed));
    }
    const Tensor& scales = companion(module + ".scales", group_shape);
    const Tensor& biases = companion(module + ".biases", group_shape);
    if (scales.dtype != biases.dtype) {
      throw bad_input("{}: tensor '{}' is {}, expected the type of its scales, {}", where(),
                      biases.name, describe(biases), base::dtype_name(scales.dtype));
    }
    auto owner = std::make_shared<std::vector<std::shared_ptr<const void>>>(
        std::initializer_list<std::shared_ptr<const void>>{packed.owner, scales.owner,
                                                           biases.owner});
    return {{.data = packed.data.data(),
             .dtype = scales.dtype,
             .out = out,
             .in = in,
             .bits = spec->bits,
             .group_size = spec->group_size,
             .scales = scales.data.data(),
             .biases = biases.data.data()},
            std::move(owner)};
  }

  const Tensor& companion(const std::string& name, std::span<const int64_t> shape) {
    const Tensor* tensor = tensors_.find(name);
    if (tensor == nullptr) {
      throw bad_input("{}: tensor '{}' is missing, expected {}", where(), name,
                      describe_shape(shape));
    }
    check_shape(*tensor, shape);
    check_float(*tensor);
    used_.insert(name);
    return *tensor;
  }

  const TensorSet& tensors_;
  const Schema& schema_;
  const QuantizationConfig& quantization_;
  const Layout& layout_;
  std::set<std::string> used_;
};

template <typename Map>
const typename Map::mapped_type& find_or_throw(const Map& map, const std::string& name) {
  const auto it = map.find(name);
  if (it == map.end()) throw base::internal_error("no tensor '{}' in the schema", name);
  return it->second;
}

}  // namespace

Matrix matrix_rows(const Matrix& matrix, int64_t begin, int64_t end) {
  const kernels::WeightView& all = matrix.view;
  if (begin < 0 || begin > end || end > all.out) {
    throw base::internal_error("rows {}..{} of a matrix of {} rows", begin, end, all.out);
  }
  const auto element = static_cast<int64_t>(base::dtype_size(all.dtype));
  const auto skip = [begin](const void* data, int64_t row_bytes) -> const void* {
    return static_cast<const std::byte*>(data) + begin * row_bytes;
  };
  Matrix part = matrix;
  part.view.out = end - begin;
  if (!all.quantized()) {
    part.view.data = skip(all.data, all.in * element);
    return part;
  }
  part.view.data = skip(all.data, all.in * all.bits / 8);
  part.view.scales = skip(all.scales, all.in / all.group_size * element);
  part.view.biases = skip(all.biases, all.in / all.group_size * element);
  return part;
}

std::string spell(const Layout& layout, const std::string& name) {
  for (const NamePrefix& prefix : layout.prefixes) {
    if (name.starts_with(prefix.ours))
      return std::string(prefix.theirs) + name.substr(prefix.ours.size());
  }
  return name;
}

std::string expand(const TensorRow& row, int64_t n) {
  const size_t hole = row.name.find("{}");
  if (hole == std::string::npos) return row.name;
  return row.name.substr(0, hole) + std::to_string(n) + row.name.substr(hole + 2);
}

std::vector<float> widen(const Tensor& tensor) {
  if (!is_float(tensor.dtype)) {
    throw bad_input("tensor '{}' is {}, expected F32, F16 or BF16", tensor.name, describe(tensor));
  }
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (tensor.dtype == DType::kF32) {
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, tensor.data.data() + 2 * i, sizeof(bits));
    values[i] = tensor.dtype == DType::kF16 ? base::f16_to_f32(bits) : base::bf16_to_f32(bits);
  }
  return values;
}

Weights Weights::load(const TensorSet& tensors, const Schema& schema,
                      const QuantizationConfig& quantization, WeightContent content) {
  Resolver resolver(tensors, schema, quantization);
  Weights weights;
  weights.layout_ = resolver.layout().name;
  for (const TensorRow& row : schema.rows) {
    // A repeated row may have no tensors at all, e.g. for a model without side features.
    const int64_t count = row.name.find("{}") == std::string::npos ? 1 : row.count;
    for (int64_t n = 0; n < count; ++n) {
      const std::string name = expand(row, n);
      const Tensor* tensor = resolver.take(row, name);
      if (tensor == nullptr) continue;
      switch (row.role) {
        case TensorRole::kMatrix:
          weights.matrices_[name] = resolver.matrix(row, name, *tensor);
          break;
        case TensorRole::kVector:
          resolver.check_vector(row, *tensor);
          if (content == WeightContent::kAll) {
            weights.vectors_[name] = std::make_shared<const std::vector<float>>(widen(*tensor));
          }
          break;
        case TensorRole::kPatchKernel:
          weights.matrices_[name] = resolver.patch_kernel(row, *tensor, content);
          break;
      }
    }
  }
  resolver.refuse_unknown();
  return weights;
}

const Matrix& Weights::matrix(const std::string& name) const {
  return find_or_throw(matrices_, name);
}

const Vector& Weights::vector(const std::string& name) const {
  return find_or_throw(vectors_, name);
}

}  // namespace mlxcel::checkpoint
