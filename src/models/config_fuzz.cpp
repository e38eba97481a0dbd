// Any config.json: every family's reader either returns or throws base::Error.
#include "base/error.h"
#include "base/json.h"
#include "models/mage_vl/config.h"
#include "models/qwen3/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel;
  try {
    const base::Json json =
        base::parse_json({reinterpret_cast<const char*>(data), size}, "config.json");
    for (const auto parse : {models::parse_mage_vl, models::parse_qwen3_family}) {
      try {
        parse({json, "config.json"});
      } catch (const base::Error&) {
      }
    }
  } catch (const base::Error&) {
  }
  return 0;
}
