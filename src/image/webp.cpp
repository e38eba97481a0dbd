// WebP through libwebp, lossy and lossless, stills and the first frame of animations. The demuxer
// finds frame and metadata and refuses files that are shorter than they say.
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <string_view>

#include "base/error.h"
#include "image/decoders.h"
#include "image/orientation.h"

namespace mlxcel::image {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

struct Frame {
  WebPIterator it{};
  ~Frame() { WebPDemuxReleaseIterator(&it); }
};

struct Chunk {
  WebPChunkIterator it{};
  ~Chunk() { WebPDemuxReleaseChunkIterator(&it); }

  // Empty when the file has none of that name.
  std::span<const uint8_t> find(const WebPDemuxer* demuxer, const char* four_letters) {
    if (WebPDemuxGetChunk(demuxer, four_letters, 1, &it) == 0) return {};
    return {it.chunk.bytes, it.chunk.size};
  }
};

const char* status_text(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the data ends before the picture does";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "an unsupported feature";
    default:
      return "corrupt data";
  }
}

// Decodes one frame into `out`, rows of width * 4 (RGBA) or width * 3 (RGB) bytes without gaps.
void decode_frame(const Source& source, const WebPIterator& frame, bool alpha,
                  std::span<uint8_t> out) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    throw base::internal_error("{}: WebP: another version of the library", source.name);
  }
  VP8StatusCode status = WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &config.input);
  if (status == VP8_STATUS_OK &&
      (config.input.width != frame.width || config.input.height != frame.height)) {
    status = VP8_STATUS_BITSTREAM_ERROR;
  }
  if (status == VP8_STATUS_OK) {
    config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out.data();
    config.output.u.RGBA.size = out.size();
    config.output.u.RGBA.stride = frame.width * (alpha ? 4 : 3);
    status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
    WebPFreeDecBuffer(&config.output);
  }
  if (status != VP8_STATUS_OK)
    throw base::bad_input("{}: WebP: {}", source.name, status_text(status));
}

int metadata_orientation(const WebPDemuxer* demuxer) {
  Chunk exif;
  Chunk xmp;
  const auto exif_bytes = exif.find(demuxer, "EXIF");
  const auto xmp_bytes = xmp.find(demuxer, "XMP ");
  return find_orientation(exif_bytes,
                          {reinterpret_cast<const char*>(xmp_bytes.data()), xmp_bytes.size()});
}

}  // namespace

Image decode_webp(const Source& source) {
  const WebPData data{source.data(), source.size()};
  const Demuxer demuxer(WebPDemux(&data));
  if (demuxer == nullptr) {
    throw base::bad_input("{}: WebP: the file is truncated or corrupt", source.name);
  }
  // White, for what the first frame of an animation may leave uncovered.
  Image image = make_image(source, WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                           WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT), 255);
  Frame frame;
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame.it) == 0) {
    throw base::bad_input("{}: WebP: no frame in the file", source.name);
  }
  const WebPIterator& it = frame.it;
  if (it.width < 1 || it.height < 1 || it.x_offset < 0 || it.y_offset < 0 ||
      it.x_offset > image.width - it.width || it.y_offset > image.height - it.height) {
    throw base::bad_input("{}: WebP: the first frame lies outside the canvas", source.name);
  }
  const bool alpha =
      it.has_alpha != 0 && (WebPDemuxGetI(demuxer.get(), WEBP_FF_FORMAT_FLAGS) & ALPHA_FLAG) != 0;
  if (!alpha && it.width == image.width && it.height == image.height) {
    decode_frame(source, it, alpha, image.pixels);
  } else {
    const size_t channels = alpha ? 4 : 3;
    const auto width = static_cast<size_t>(it.width);
    std::vector<uint8_t> pixels(width * static_cast<size_t>(it.height) * channels);
    decode_frame(source, it, alpha, pixels);
    const uint8_t* in = pixels.data();
    for (int y = 0; y < it.height; ++y) {
      uint8_t* rgb = image.pixels.data() +
                     3 * (static_cast<size_t>(it.y_offset + y) * static_cast<size_t>(image.width) +
                          static_cast<size_t>(it.x_offset));
      for (size_t x = 0; x < width; ++x, in += channels, rgb += 3) {
        if (alpha) {
          put_over_white(in, rgb);
        } else {
          std::copy_n(in, 3, rgb);
        }
      }
    }
  }
  return apply_orientation(std::move(image), metadata_orientation(demuxer.get()));
}

}  // namespace mlxcel::image
