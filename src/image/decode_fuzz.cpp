// Feeds bytes to one decoder each: MLXCEL_FUZZ_DECODER is its function. A picture must be
// consistent, anything else must be an Error.
#include <zlib.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "image/decoders.h"

namespace {

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

// Rewrites the checksums of a PNG, which would otherwise keep nearly every mutation from the code
// behind them.
void repair_checksums(std::vector<uint8_t>& data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  if (!text.starts_with(kPngSignature)) return;
  size_t at = kPngSignature.size();
  while (data.size() - at >= 12) {
    const size_t length = big_endian(data.data() + at);
    if (length > data.size() - at - 12) return;
    const auto sum = crc32(0, data.data() + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) {
      data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel;
  std::vector<uint8_t> bytes(data, data + size);
  repair_checksums(bytes);
  // A low cap: large pictures take time and teach nothing.
  const image::Source source{std::as_bytes(std::span(bytes)), "fuzz", 1 << 16};
  try {
    const image::Image picture = image::MLXCEL_FUZZ_DECODER(source);
    const auto area = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height);
    if (picture.pixels.size() != area * 3) std::abort();
  } catch (const base::Error&) {
  }
  return 0;
}
