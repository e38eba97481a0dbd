// JPEG through libjpeg(-turbo), as exact as its defaults are: accurate integer DCT, fancy
// upsampling, which is what Pillow uses.
//
// libjpeg reports errors by a callback that must not return. Here it jumps back into the one
// function that made the call, each of which holds no C++ object that would need a destructor; the
// message is thrown from there on.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <string_view>
// (libjpeg's header needs <cstdio> first.)
#include <jerror.h>
#include <jpeglib.h>

#include "base/error.h"
#include "image/decoders.h"
#include "image/orientation.h"

namespace mlxcel::image {
namespace {

// Progressive pictures with thousands of tiny scans take hours; real ones have about ten.
constexpr int kMaxScans = 200;

struct ErrorState {
  jpeg_error_mgr manager;  // first, so that the library's pointer is also ours
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  state->manager.format_message(info, state->message);
  std::longjmp(state->back, 1);
}

[[noreturn]] void fail_with(j_common_ptr info, const char* message) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  std::snprintf(state->message, sizeof(state->message), "%s", message);
  std::longjmp(state->back, 1);
}

// The library repairs damage with a warning and grey blocks. Only warnings that leave every pixel
// as it was encoded are let pass.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      fail(info);
  }
}

void no_output(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    fail_with(info, "more scans than any real picture has");
  }
}

void no_source_call(j_decompress_ptr) {}

boolean on_end_of_data(j_decompress_ptr info) {
  fail_with(reinterpret_cast<j_common_ptr>(info), "the data ends before the picture does");
}

void skip_data(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  const auto bytes = static_cast<size_t>(count);
  if (bytes > info->src->bytes_in_buffer) on_end_of_data(info);
  info->src->next_input_byte += bytes;
  info->src->bytes_in_buffer -= bytes;
}

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {
    info_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = fail;
    error_.manager.emit_message = on_message;
    error_.manager.output_message = no_output;
    input_.next_input_byte = source.data();
    input_.bytes_in_buffer = source.size();
    input_.init_source = no_source_call;
    input_.fill_input_buffer = on_end_of_data;
    input_.skip_input_data = skip_data;
    input_.resync_to_restart = jpeg_resync_to_restart;
    input_.term_source = no_source_call;
    progress_.progress_monitor = on_progress;
  }
  ~Reader() { jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image read() {
    check(read_header());
    const int orientation = metadata_orientation();
    // Before a component is decoded, and before the library allocates for a progressive picture.
    Image image = make_image(source_, info_.image_width, info_.image_height);
    check(start());
    if (info_.num_components == 4) {
      std::vector<uint8_t> row(static_cast<size_t>(image.width) * 4);
      check(read_cmyk_rows(row.data(), image.pixels.data()));
    } else {
      check(read_rgb_rows(image.pixels.data()));
    }
    return apply_orientation(std::move(image), orientation);
  }

 private:
  void check(bool ok) const {
    if (!ok) throw base::bad_input("{}: JPEG: {}", source_.name, error_.message);
  }

  bool read_header() {
    if (setjmp(error_.back) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.src = &input_;
    info_.progress = &progress_;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool start() {
    if (setjmp(error_.back) != 0) return false;
    switch (info_.num_components) {
      case 1:
      case 3:
        info_.out_color_space = JCS_RGB;
        break;
      case 4:
        info_.out_color_space = JCS_CMYK;  // the library turns YCCK into it
        break;
      default:
        fail_with(reinterpret_cast<j_common_ptr>(&info_), "expected 1, 3 or 4 colour components");
    }
    jpeg_start_decompress(&info_);
    return true;
  }

  bool read_rgb_rows(uint8_t* pixels) {
    if (setjmp(error_.back) != 0) return false;
    const size_t stride = size_t{info_.output_width} * 3;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  // CMYK files hold inverted ink by Adobe's convention: a sample is 255 - ink. Pillow assumes that
  // of all of them, and mixes each channel as (255 - k) - (255 - k) * ink / 255, rounded, at least
  // 0.
  bool read_cmyk_rows(uint8_t* row, uint8_t* pixels) {
    if (setjmp(error_.back) != 0) return false;
    const size_t stride = size_t{info_.output_width} * 3;
    while (info_.output_scanline < info_.output_height) {
      uint8_t* rgb = pixels + info_.output_scanline * stride;
      JSAMPROW target = row;
      jpeg_read_scanlines(&info_, &target, 1);
      for (size_t x = 0; x < info_.output_width; ++x) {
        const uint32_t light = row[4 * x + 3];
        for (size_t c = 0; c < 3; ++c) {
          const uint32_t sum = (255U - row[4 * x + c]) * light + 128;
          rgb[3 * x + c] = static_cast<uint8_t>(light - ((sum + (sum >> 8)) >> 8));
        }
      }
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  // To be called before the end of decoding, which frees the saved markers.
  int metadata_orientation() const {
    constexpr std::string_view exif_key("Exif\0\0", 6);
    constexpr std::string_view xmp_key("http://ns.adobe.com/xap/1.0/\0", 29);
    std::span<const uint8_t> exif;
    std::string_view xmp;
    for (const jpeg_marker_struct* it = info_.marker_list; it != nullptr; it = it->next) {
      const std::string_view text(reinterpret_cast<const char*>(it->data), it->data_length);
      if (text.starts_with(exif_key) && exif.empty()) exif = {it->data, it->data_length};
      if (text.starts_with(xmp_key)) xmp = text.substr(xmp_key.size());
    }
    return find_orientation(exif, xmp);
  }

  const Source& source_;
  jpeg_decompress_struct info_{};
  ErrorState error_{};
  jpeg_source_mgr input_{};
  jpeg_progress_mgr progress_{};
};

}  // namespace

Image decode_jpeg(const Source& source) { return Reader(source).read(); }

}  // namespace mlxcel::image
