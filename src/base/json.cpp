#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"

namespace mlxcel::base {
namespace {

constexpr size_t kMaxDepth = 200;
constexpr size_t kShownBytes = 60;

// A value as it may stand in a message: cut short, on one line.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return text;
}

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

Json parse_json(std::string_view text, const std::string& name) {
  // The library takes a zero byte for the end of the text, and would not look at what follows.
  const size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw bad_input("{}: not valid JSON near byte {}", name, zero + 1);
  }
  Builder builder(name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json load_json(const std::filesystem::path& path, size_t max_bytes) {
  return parse_json(read_file(path, max_bytes), path.string());
}

std::string JsonField::where() const { return path_.empty() ? file_ : file_ + ": '" + path_ + "'"; }

void JsonField::require(bool ok, std::string_view expected) const {
  if (!ok) throw bad_input("{} is {}, expected {}", where(), shown(*value_), expected);
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  require(value_->is_object(), "an object");
  const auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return JsonField(*it, file_, path_.empty() ? std::string(key) : path_ + "." + std::string(key));
}

JsonField JsonField::at(std::string_view key) const {
  auto field = find(key);
  if (!field)
    throw bad_input("{}: field '{}{}{}' is missing", file_, path_, path_.empty() ? "" : ".", key);
  return *field;
}

std::string JsonField::as_string() const {
  require(value_->is_string(), "a string");
  return value_->get<std::string>();
}

bool JsonField::as_bool() const {
  require(value_->is_boolean(), "true or false");
  return value_->get<bool>();
}

double JsonField::as_number() const {
  require(value_->is_number() && std::isfinite(value_->get<double>()), "a finite number");
  return value_->get<double>();
}

int64_t JsonField::as_int(int64_t min, int64_t max) const {
  constexpr double kExactLimit = 9007199254740992.0;  // 2^53: doubles beyond are not exact integers
  require(value_->is_number(), "an integer");
  int64_t result = 0;
  if (value_->is_number_float()) {
    const double number = value_->get<double>();
    require(std::fabs(number) <= kExactLimit && number == std::floor(number), "an integer");
    result = static_cast<int64_t>(number);
  } else if (value_->is_number_unsigned()) {
    require(value_->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
            fmt::format("an integer from {} to {}", min, max));
    result = value_->get<int64_t>();
  } else {
    result = value_->get<int64_t>();
  }
  if (result < min || result > max)
    require(false, fmt::format("an integer from {} to {}", min, max));
  return result;
}

std::vector<JsonField> JsonField::as_list() const {
  require(value_->is_array(), "a list");
  std::vector<JsonField> items;
  items.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    items.push_back(JsonField((*value_)[i], file_, fmt::format("{}[{}]", path_, i)));
  }
  return items;
}

std::string JsonField::string_or(std::string_view key, std::string fallback) const {
  const auto field = find(key);
  return field ? field->as_string() : std::move(fallback);
}

bool JsonField::bool_or(std::string_view key, bool fallback) const {
  const auto field = find(key);
  return field ? field->as_bool() : fallback;
}

double JsonField::number_or(std::string_view key, double fallback) const {
  const auto field = find(key);
  return field ? field->as_number() : fallback;
}

int64_t JsonField::int_or(std::string_view key, int64_t fallback, int64_t min, int64_t max) const {
  const auto field = find(key);
  return field ? field->as_int(min, max) : fallback;
}

}  // namespace mlxcel::base
