#include "checkpoint/untrusted.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"

namespace mlxcel::checkpoint {
namespace {

using base::bad_input;
using base::Json;

constexpr size_t kMaxDepth = 200;
constexpr size_t kShownBytes = 200;

bool is_plain_byte(char c) { return c >= 0x20 && c < 0x7F; }

// Receives the parser's events and builds the document, by appending only.
class Builder {
 public:
  explicit Builder(const std::string& name) : name_(name) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // not in JSON text

  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool key(std::string& value) {
    levels_.back().key = std::move(value);
    return true;
  }
  bool end_object() {
    refuse_repeated_members(levels_.back().value);
    return close();
  }
  bool end_array() { return close(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    throw bad_input("{}: not valid JSON near byte {}", name_, position);
  }

  Json take() { return std::move(document_); }

 private:
  struct Level {
    Json value;
    std::string key;  // of the member to come, in an object
  };

  bool open(Json container) {
    if (levels_.size() == kMaxDepth)
      throw bad_input("{}: nested deeper than {} levels", name_, kMaxDepth);
    levels_.push_back({std::move(container), {}});
    return true;
  }

  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (levels_.empty()) {
      document_ = std::move(value);
    } else if (Level& level = levels_.back(); level.value.is_object()) {
      level.value.get_ref<Json::object_t&>().emplace_back(std::move(level.key), std::move(value));
    } else {
      level.value.get_ref<Json::array_t&>().push_back(std::move(value));
    }
    return true;
  }

  void refuse_repeated_members(const Json& object) const {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
      throw bad_input("{}: an object names '{}' twice", name_, printable(*twice));
  }

  const std::string& name_;
  std::vector<Level> levels_;
  Json document_;
};

}  // namespace

Json parse_untrusted_json(std::string_view text, const std::string& name) {
  // The library takes a zero byte for the end of the text, and would not look at what follows.
  const size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw bad_input("{}: not valid JSON near byte {}", name, zero + 1);
  }
  Builder builder(name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_plain_byte);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownBytes)) {
    if (is_plain_byte(c)) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kShownBytes ? shown + "..." : shown;
}

}  // namespace mlxcel::checkpoint
