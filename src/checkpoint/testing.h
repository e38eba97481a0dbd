// Safetensors files written by hand, for the tests of this folder.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing.h"
#include "checkpoint/safetensors.h"

namespace mlxcel::checkpoint {

// A file of this header (which may be no header at all) and payload.
inline std::string file_image(std::string_view header, std::string_view payload = {}) {
  const uint64_t length = header.size();
  std::string image(sizeof(length), '\0');
  std::memcpy(image.data(), &length, sizeof(length));
  return image.append(header).append(payload);
}

// A header's entry: "name":{...}.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         uint64_t begin, uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, dtype,
                     shape, begin, end);
}

// A header of these entries.
inline std::string object(const std::vector<std::string>& entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

// Message of parsing this image as "f"; the image lies in memory of exactly its size.
inline std::string parse_message(std::string_view image) {
  const auto* first = reinterpret_cast<const std::byte*>(image.data());
  const std::vector<std::byte> bytes(first, first + image.size());
  return base::message_of([&] { parse_safetensors(bytes, "f"); });
}

}  // namespace mlxcel::checkpoint
