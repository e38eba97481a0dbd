// Everything that a checkpoint folder gives, loaded and checked against each other.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "image/processor.h"
#include "models/registry.h"
#include "ops/context.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxcel::engine {

struct LoadedModel {
  std::unique_ptr<models::FamilyConfig> config;
  std::unique_ptr<models::Model> model;
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat_template;  // nothing: the folder has none
  std::optional<image::ImageProcessor> processor;   // nothing: a text model

  // Throws kNotFound when the folder or one of its files is absent, kBadInput or kUnsupported for
  // what they say.
  static LoadedModel open(const std::filesystem::path& folder, const ops::Context& context);

  const models::ModelInfo& info() const { return config->info; }
};

}  // namespace mlxcel::engine
