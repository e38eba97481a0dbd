// JSON files as typed, checked fields: every error names the file and the field with its path, what
// was found and what was expected, so that no reader of a config writes such messages by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::base {

using Json = nlohmann::ordered_json;

// Parses text in linear time (inserting into an ordered_json is not); `name` (a file) opens the
// message of an error. Throws kBadInput for text that is not JSON, nests deeper than 200 levels or
// names a member of an object twice, of which a plain parser would silently drop one.
Json parse_json(std::string_view text, const std::string& name);

// Reads and parses a file of at most `max_bytes`.
Json load_json(const std::filesystem::path& path, size_t max_bytes = size_t{64} << 20);

// A value inside a document, with the path that led to it. Cheap to copy; does not own the
// document.
class JsonField {
 public:
  JsonField(const Json& value, std::string file) : value_(&value), file_(std::move(file)) {}

  // Member of an object. `at` throws when it is absent, `find` gives nothing (also for null).
  JsonField at(std::string_view key) const;
  std::optional<JsonField> find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }

  // Typed values. Each throws kBadInput naming file, field, found and expected.
  std::string as_string() const;
  bool as_bool() const;
  double as_number() const;  // finite
  int64_t as_int(int64_t min = std::numeric_limits<int64_t>::min(),
                 int64_t max = std::numeric_limits<int64_t>::max()) const;  // 5 and 5.0, not 5.5
  std::vector<JsonField> as_list() const;

  // Members with a default for an absent or null one.
  std::string string_or(std::string_view key, std::string fallback) const;
  bool bool_or(std::string_view key, bool fallback) const;
  double number_or(std::string_view key, double fallback) const;
  int64_t int_or(std::string_view key, int64_t fallback, int64_t min, int64_t max) const;
  // A required bounded integer member.
  int64_t int_at(std::string_view key, int64_t min, int64_t max) const {
    return at(key).as_int(min, max);
  }

  const Json& value() const { return *value_; }
  const std::string& file() const { return file_; }
  std::string where() const;  // "config.json: text_config.head_dim"

 private:
  JsonField(const Json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}
  void require(bool ok, std::string_view expected) const;

  const Json* value_;
  std::string file_;
  std::string path_;
};

}  // namespace mlxcel::base
