#include "image/processor.h"

#include <gtest/gtest.h>

#include "image/test_support.h"

namespace mlxcel::image {
namespace {

using testing::error_of;
using testing::recipe;

constexpr const char* kMage = R"({
  "image_processor_type": "Qwen2VLImageProcessor", "do_convert_rgb": true, "do_normalize": true,
  "do_rescale": true, "do_resize": true,
  "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
  "max_pixels": 4000000, "min_pixels": 3136, "merge_size": 2, "patch_size": 16, "resample": 3,
  "rescale_factor": 0.00392156862745098, "temporal_patch_size": 1,
  "codec": {"enabled": true, "note": "video only"}})";

ProcessorConfig parse(const std::string& text) {
  const base::Json json = base::parse_json(text, "preprocessor_config.json");
  return read_processor_config(base::JsonField(json, "preprocessor_config.json"));
}

// Mage's config with one field replaced, or removed when `value` is null.
std::string changed(const std::string& key, const base::Json& value) {
  base::Json json = base::parse_json(kMage, "mage");
  if (value.is_null()) {
    json.erase(key);
  } else {
    json[key] = value;
  }
  return json.dump();
}

TEST(ImageProcessor, equals_the_reference) {
  const auto json = base::load_json(testing::fixture("patches.json"));
  const auto cases = base::JsonField(json, "patches.json").as_list();
  ASSERT_GE(cases.size(), 30U);
  base::ThreadPool pool(2);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& item = cases[i];
    const ImageProcessor processor(read_processor_config(item.at("config")));
    const auto size = item.at("size").as_list();
    const auto count = static_cast<uint32_t>(item.int_at("frames", 1, 100));
    std::vector<Image> frames;
    for (uint32_t f = 0; f < count; ++f) {
      frames.push_back(recipe(
          item.at("kind").as_string(), static_cast<uint32_t>(item.int_at("seed", 0, 1000)) + f,
          static_cast<int>(size[0].as_int()), static_cast<int>(size[1].as_int())));
    }
    base::ThreadPool* const used = i % 2 == 0 ? &pool : nullptr;
    const Patches patches = count == 1 ? processor.process(frames[0], used)
                                       : patchify(frames, processor.config().patches, used);
    const auto grid = item.at("grid").as_list();
    EXPECT_EQ(patches.grid,
              (Grid{static_cast<int32_t>(grid[0].as_int()), static_cast<int32_t>(grid[1].as_int()),
                    static_cast<int32_t>(grid[2].as_int())}));
    EXPECT_EQ(testing::crc32(std::as_bytes(std::span(patches.rows))),
              static_cast<uint32_t>(item.int_at("crc", 0, 0xFFFFFFFF)))
        << item.value().dump();
  }
}

TEST(ImageProcessor, mage_cuts_224x224_into_49_tokens) {
  const ImageProcessor processor(parse(kMage));
  EXPECT_EQ(processor.grid_for(224, 224), (Grid{1, 14, 14}));
  const Patches patches = processor.process(recipe("scene", 1, 224, 224));
  EXPECT_EQ(patches.grid, (Grid{1, 14, 14}));
  EXPECT_EQ(processor.image_tokens(patches.grid), 49);
  EXPECT_EQ(processor.row_width(), 768);
}

TEST(ImageProcessor, qwen2_vl_processor_temporal_patch_1_row_count) {
  const ImageProcessor one(parse(kMage));
  const Patches patches = one.process(recipe("scene", 1, 160, 96));
  EXPECT_EQ(patches.grid, (Grid{1, 6, 10}));
  EXPECT_EQ(static_cast<int64_t>(patches.rows.size()), patches.grid.patches() * one.row_width());
  EXPECT_EQ(patches.rows.size(), 60U * 768);
  const ImageProcessor two(parse(changed("temporal_patch_size", 2)));
  EXPECT_EQ(two.row_width(), 1536);
  EXPECT_EQ(two.process(recipe("scene", 1, 160, 96)).rows.size(), 60U * 1536);
}

TEST(ImageProcessor, fields_are_read) {
  const ImageProcessor processor(parse(kMage));
  EXPECT_EQ(processor.patch_size(), 16);
  EXPECT_EQ(processor.merge_size(), 2);
  EXPECT_EQ(processor.temporal_patch_size(), 1);
  EXPECT_EQ(processor.bounds().factor, 32);
  EXPECT_EQ(processor.bounds().min_pixels, 3136);
  EXPECT_EQ(processor.bounds().max_pixels, 4'000'000);
  EXPECT_EQ(processor.config().patches.mean[1], 0.4578275F);
  EXPECT_EQ(processor.config().patches.std[2], 0.27577711F);
  EXPECT_EQ(processor.config().patches.rescale, 1.0F / 255);
}

TEST(ImageProcessor, bounds_come_from_size_where_pixels_are_absent_or_null) {
  const auto config =
      parse(R"({"size": {"shortest_edge": 65536, "longest_edge": 16777216}, "min_pixels": null,
    "patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5]})");
  EXPECT_EQ(config.min_pixels, 65536);
  EXPECT_EQ(config.max_pixels, 16'777'216);
  EXPECT_EQ(config.patches.rescale, 1.0F / 255);
  // Where both are given, the processor of the reference lets min_pixels and max_pixels win.
  const auto both = parse(changed("size", {{"shortest_edge", 1}, {"longest_edge", 2}}));
  EXPECT_EQ(both.max_pixels, 4'000'000);
}

TEST(ImageProcessor, steps_that_are_switched_off_are_refused_by_name) {
  for (const char* key : {"do_resize", "do_rescale", "do_normalize"}) {
    const auto error = error_of([&] { parse(changed(key, false)); });
    EXPECT_EQ(error.kind(), base::ErrorKind::kUnsupported);
    EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
  }
  const auto error = error_of([] { parse(changed("resample", 2)); });
  EXPECT_EQ(error.kind(), base::ErrorKind::kUnsupported);
  EXPECT_EQ(std::string(error.what()),
            "preprocessor_config.json: 'resample' is 2, expected 3 (bicubic)");
  EXPECT_NO_THROW(parse(changed("do_convert_rgb", false)));
}

TEST(ImageProcessor, bad_fields_are_refused_by_name) {
  const std::vector<std::pair<std::string, base::Json>> cases = {{"patch_size", 0},
                                                                 {"patch_size", 65},
                                                                 {"patch_size", "16"},
                                                                 {"patch_size", nullptr},
                                                                 {"merge_size", 0},
                                                                 {"merge_size", 9},
                                                                 {"merge_size", nullptr},
                                                                 {"temporal_patch_size", 0},
                                                                 {"temporal_patch_size", 1000},
                                                                 {"temporal_patch_size", nullptr},
                                                                 {"min_pixels", 0},
                                                                 {"min_pixels", -1},
                                                                 {"min_pixels", 4'000'001},
                                                                 {"min_pixels", nullptr},
                                                                 {"max_pixels", 1e15},
                                                                 {"max_pixels", 1.5},
                                                                 {"max_pixels", nullptr},
                                                                 {"image_mean", {0.5, 0.5}},
                                                                 {"image_mean", 0.5},
                                                                 {"image_mean", nullptr},
                                                                 {"image_std", {0.5, 0, 0.5}},
                                                                 {"image_std", {0.5, -1, 0.5}},
                                                                 {"image_std", {1, 1, "x"}},
                                                                 {"image_std", nullptr},
                                                                 {"rescale_factor", 0},
                                                                 {"rescale_factor", "x"},
                                                                 {"resample", "bicubic"},
                                                                 {"do_resize", 1}};
  for (const auto& [key, value] : cases) {
    const auto error = error_of([&, k = key, v = value] { parse(changed(k, v)); });
    EXPECT_EQ(error.kind(), base::ErrorKind::kBadInput) << key << " " << value.dump();
    EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
  }
}

TEST(ImageProcessor, extreme_pictures_are_refused_and_small_ones_are_not) {
  const ImageProcessor processor(parse(kMage));
  EXPECT_EQ(error_of([&] { processor.process(recipe("noise", 1, 402, 2)); }).kind(),
            base::ErrorKind::kBadInput);
  EXPECT_EQ(processor.process(recipe("noise", 1, 1, 1)).grid, (Grid{1, 4, 4}));
  EXPECT_EQ(processor.process(recipe("noise", 1, 3, 2)).grid, processor.grid_for(2, 3));
}

TEST(ImageProcessor, a_folder_without_the_file_is_not_found) {
  EXPECT_EQ(error_of([] { ImageProcessor::load("/nonexistent"); }).kind(),
            base::ErrorKind::kNotFound);
}

}  // namespace
}  // namespace mlxcel::image
