#include "models/qwen3/model.h"

#include "base/error.h"

namespace mlxcel::models {
namespace {

class Qwen3Model : public Model {
 public:
  Qwen3Model(const Qwen3FamilyConfig& config, const checkpoint::Weights& weights,
             const ops::Context& context)
      : info_(config.info), decoder_(config.text, weights, context) {}

  const ModelInfo& info() const override { return info_; }

  VisualFeatures encode(std::span<const image::Patches* const> /*pictures*/,
                        Stages* /*stages*/) const override {
    throw base::unsupported("qwen3 is a text model: it takes no pictures");
  }

  mx::array forward(std::span<const SequenceInput> sequences, Stages* stages) const override {
    return decoder_.forward(sequences, stages);
  }

 private:
  ModelInfo info_;
  Qwen3Decoder decoder_;
};

}  // namespace

std::unique_ptr<Model> make_qwen3(const FamilyConfig& config, const checkpoint::Weights& weights,
                                  const ops::Context& context) {
  return std::make_unique<Qwen3Model>(dynamic_cast<const Qwen3FamilyConfig&>(config), weights,
                                      context);
}

}  // namespace mlxcel::models
