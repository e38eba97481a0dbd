#include "engine/loaded_model.h"

#include "base/error.h"

namespace mlxcel::engine {
namespace {

void check_same(std::string_view field, int64_t processor, int64_t model) {
  if (processor != model) {
    throw base::bad_input("preprocessor_config.json: '{}' is {}, expected {} as in config.json",
                          field, processor, model);
  }
}

image::ImageProcessor load_processor(const std::filesystem::path& folder,
                                     const models::ImageTokens& images) {
  auto processor = image::ImageProcessor::load(folder);
  check_same("patch_size", processor.patch_size(), images.patch);
  check_same("merge_size", processor.merge_size(), images.merge);
  check_same("temporal_patch_size", processor.temporal_patch_size(), images.temporal);
  return processor;
}

std::optional<text::ChatTemplate> load_template(const std::filesystem::path& folder) {
  try {
    return text::ChatTemplate::load(folder);
  } catch (const base::Error& error) {
    if (error.kind() == base::ErrorKind::kNotFound) return std::nullopt;
    throw;
  }
}

}  // namespace

LoadedModel LoadedModel::open(const std::filesystem::path& folder, const ops::Context& context) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw base::not_found("{}: no such folder; expected a checkpoint folder with config.json",
                          folder.string());
  }
  // The small files first: a mistake in them shows before gigabytes are touched.
  auto config = models::load_family_config(folder);
  auto tokenizer = text::Tokenizer::load(
      folder, {.padded_vocab = static_cast<int32_t>(config->info.vocab_size)});
  auto chat_template = load_template(folder);
  std::optional<image::ImageProcessor> processor;
  if (config->info.images) processor = load_processor(folder, *config->info.images);
  auto model = models::load_model(folder, *config, context);
  return {std::move(config), std::move(model), std::move(tokenizer), std::move(chat_template),
          std::move(processor)};
}

}  // namespace mlxcel::engine
