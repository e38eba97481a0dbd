// GIF through giflib's record-wise reader: only what comes before the end of the first frame is
// read, so that a long animation costs no more than a still.
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "image/decoders.h"

namespace mlxcel::image {
namespace {

constexpr int kTransparencyFlag = 1;
constexpr std::array<uint8_t, 3> kWhite = {255, 255, 255};

struct Palette {
  std::array<std::array<uint8_t, 3>, 256> colours{};
  int size = 0;
};

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {
    int error = 0;
    gif_ = DGifOpen(this, on_read, &error);
    if (gif_ == nullptr) fail(error);
  }
  ~Reader() { DGifCloseFile(gif_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image read() {
    find_first_frame();
    const GifImageDesc& frame = gif_->Image;
    if (frame.Left < 0 || frame.Top < 0 || frame.Width < 1 || frame.Height < 1) {
      throw base::bad_input("{}: GIF: the first frame is empty", source_.name);
    }
    // A frame that exceeds the screen enlarges it, as in Pillow.
    Image image =
        make_image(source_, std::max(int64_t{gif_->SWidth}, int64_t{frame.Left} + frame.Width),
                   std::max(int64_t{gif_->SHeight}, int64_t{frame.Top} + frame.Height), 255);
    const Palette palette = make_palette();
    if (!transparent_) fill_with_first_colour(palette, image);
    read_rows(palette, image);
    return image;
  }

 private:
  static int on_read(GifFileType* gif, GifByteType* out, int count) {
    auto* reader = static_cast<Reader*>(gif->UserData);
    if (count <= 0) return 0;
    const size_t available =
        std::min(reader->source_.size() - reader->position_, static_cast<size_t>(count));
    if (available == 0) return 0;
    std::memcpy(out, reader->source_.data() + reader->position_, available);
    reader->position_ += available;
    return static_cast<int>(available);
  }

  [[noreturn]] void fail(int code) const {
    const bool ended = position_ == source_.size();
    const char* text = GifErrorString(code);
    throw base::bad_input(
        "{}: GIF: {}", source_.name,
        ended || text == nullptr ? "the data ends before the picture does" : text);
  }
  void check(int result) const {
    if (result == GIF_ERROR) fail(gif_->Error);
  }

  void find_first_frame() {
    while (true) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      check(DGifGetRecordType(gif_, &type));
      if (type == IMAGE_DESC_RECORD_TYPE) {
        check(DGifGetImageDesc(gif_));
        return;
      }
      if (type != EXTENSION_RECORD_TYPE) {
        throw base::bad_input("{}: GIF: no frame in the file", source_.name);
      }
      read_extension();
    }
  }

  void read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    check(DGifGetExtension(gif_, &code, &block));
    // The block's first byte is its length.
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4 &&
        (block[1] & kTransparencyFlag) != 0) {
      transparent_ = block[4];
    }
    while (block != nullptr) check(DGifGetExtensionNext(gif_, &block));
  }

  // The frame's own colours, else the file's, else greys.
  Palette make_palette() const {
    Palette palette;
    const ColorMapObject* map =
        gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
    palette.size = map == nullptr ? 256 : std::clamp(map->ColorCount, 0, 256);
    for (int i = 0; i < palette.size; ++i) {
      auto& colour = palette.colours[static_cast<size_t>(i)];
      if (map == nullptr) {
        colour.fill(static_cast<uint8_t>(i));
      } else {
        colour = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue};
      }
    }
    return palette;
  }

  // What an opaque frame leaves uncovered; the picture is white until then.
  static void fill_with_first_colour(const Palette& palette, Image& image) {
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      std::copy_n(palette.colours[0].data(), 3, image.pixels.data() + i);
    }
  }

  void read_rows(const Palette& palette, Image& image) {
    struct Pass {
      int first;
      int step;
    };
    constexpr std::array interlaced = {Pass{0, 8}, Pass{4, 8}, Pass{2, 4}, Pass{1, 2}};
    constexpr std::array plain = {Pass{0, 1}};
    const GifImageDesc& frame = gif_->Image;
    std::vector<GifPixelType> row(static_cast<size_t>(frame.Width));
    const auto passes =
        frame.Interlace ? std::span<const Pass>(interlaced) : std::span<const Pass>(plain);
    for (const Pass& pass : passes) {
      for (int y = pass.first; y < frame.Height; y += pass.step) {
        check(DGifGetLine(gif_, row.data(), frame.Width));
        uint8_t* rgb = image.pixels.data() +
                       3 * (static_cast<size_t>(frame.Top + y) * static_cast<size_t>(image.width) +
                            static_cast<size_t>(frame.Left));
        for (const GifPixelType index : row) {
          std::copy_n(colour_of(palette, index).data(), 3, rgb);
          rgb += 3;
        }
      }
    }
  }

  const std::array<uint8_t, 3>& colour_of(const Palette& palette, GifPixelType index) const {
    if (transparent_ == index) return kWhite;
    if (index >= palette.size) {
      throw base::bad_input("{}: GIF: colour {} lies outside the palette of {}", source_.name,
                            index, palette.size);
    }
    return palette.colours[index];
  }

  const Source& source_;
  size_t position_ = 0;
  GifFileType* gif_ = nullptr;
  std::optional<GifPixelType> transparent_;
};

}  // namespace

Image decode_gif(const Source& source) { return Reader(source).read(); }

}  // namespace mlxcel::image
