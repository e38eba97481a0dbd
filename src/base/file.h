// Reading whole small files (configs, templates, pictures) with a bound, since every one of them is
// untrusted input.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace mlxcel::base {

// Bytes of the file. Throws kNotFound, or kBadInput when it is a directory, unreadable or larger
// than `max_bytes`.
std::string read_file(const std::filesystem::path& path, size_t max_bytes);

}  // namespace mlxcel::base
