#include "models/registry.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace mlxcel::models {
namespace {

TEST(Registry, DetectsMageVl) {
  const base::Json json = base::parse_json(R"({"model_type": "mage_vl"})", "config.json");
  EXPECT_EQ(find_family({json, "config.json"}).model_type, "mage_vl");
}

TEST(Registry, NamesTheFamiliesThatItKnows) {
  const base::Json json = base::parse_json(R"({"model_type": "mage_vl2"})", "config.json");
  try {
    find_family({json, "config.json"});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::kUnsupported);
    EXPECT_STREQ(error.what(),
                 "config.json: 'model_type' is 'mage_vl2', which is not supported; supported are "
                 "mage_vl, qwen3");
  }
}

}  // namespace
}  // namespace mlxcel::models
