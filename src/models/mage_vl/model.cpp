#include "models/mage_vl/model.h"

#include "models/decoders/qwen3.h"
#include "models/mage_vl/vision.h"

namespace mlxcel::models {
namespace {

class MageVlModel : public Model {
 public:
  MageVlModel(const MageVlConfig& config, const checkpoint::Weights& weights,
              const ops::Context& context)
      : info_(config.info),
        vision_(config.vision, weights, context),
        decoder_(config.text, weights, context) {}

  const ModelInfo& info() const override { return info_; }

  VisualFeatures encode(std::span<const image::Patches* const> pictures,
                        Stages* stages) const override {
    return {vision_.forward(pictures, stages), {}};
  }

  mx::array forward(std::span<const SequenceInput> sequences, Stages* stages) const override {
    return decoder_.forward(sequences, stages);
  }

 private:
  ModelInfo info_;
  MageVision vision_;
  Qwen3Decoder decoder_;
};

}  // namespace

std::unique_ptr<Model> make_mage_vl(const FamilyConfig& config, const checkpoint::Weights& weights,
                                    const ops::Context& context) {
  return std::make_unique<MageVlModel>(dynamic_cast<const MageVlConfig&>(config), weights, context);
}

}  // namespace mlxcel::models
