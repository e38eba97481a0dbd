// What the tests of this folder share: where fixtures lie, and the pictures and checksums that
// tools/fixtures/make_image_cases.py makes in Python in the same way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "image/decode.h"

namespace mlxcel::image::testing {

inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(MLXCEL_SOURCE_DIR) / "tests" / "fixtures" / "image" / name;
}

inline std::string fixture_bytes(const std::string& name) {
  return base::read_file(fixture(name), size_t{16} << 20);
}

inline uint32_t noise(uint32_t seed, uint32_t index) {
  uint32_t v = (index * 2654435761U) ^ seed;
  v ^= v >> 15;
  v *= 2246822519U;
  v ^= v >> 13;
  v *= 3266489917U;
  v ^= v >> 16;
  return v & 255;
}

// "noise", "scene" (slopes, edges and a little noise) or "extreme" (only 0 and 255).
inline Image recipe(const std::string& kind, uint32_t seed, int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const uint32_t n = noise(seed, static_cast<uint32_t>(image.pixels.size()));
        int value = static_cast<int>(n);
        if (kind == "extreme") {
          value = static_cast<int>(n & 1) * 255;
        } else if (kind == "scene") {
          const int slope = (x * (3 + c) + y * (5 - c)) / 8 % 160;
          const int edge = ((x / 23 + y / 17 + c) % 2) * 70;
          value = std::min(slope + edge + static_cast<int>(n % 26), 255);
        }
        image.pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return image;
}

// The CRC-32 of zlib.
inline uint32_t crc32(std::span<const std::byte> bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
      entries[i] = value;
    }
    return entries;
  }();
  uint32_t crc = ~0U;
  for (const std::byte byte : bytes)
    crc = table[(crc ^ static_cast<uint32_t>(byte)) & 255] ^ (crc >> 8);
  return ~crc;
}

// The error that a call throws; fails the test when it throws none.
template <typename Call>
base::Error error_of(Call&& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return base::internal_error("none");
}

}  // namespace mlxcel::image::testing
