#include "base/json.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace mlxcel::base {
namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kShownBytes = 60;

// A value as it may stand in a message: cut short, on one line.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return text;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  const auto watch_depth = [&name](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw bad_input("{}: nested deeper than {} levels", name, kMaxDepth);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch_depth);
  } catch (const nlohmann::json::exception& error) {
    // The library's text may quote bytes of the file; keep only the position it reports.
    const auto* parse_error = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    if (parse_error != nullptr) throw bad_input("{}: not valid JSON near byte {}", name, parse_error->byte);
    throw bad_input("{}: not valid JSON (number out of range or bad text)", name);
  }
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
  if (!field) throw bad_input("{}: field '{}{}{}' is missing", file_, path_, path_.empty() ? "" : ".", key);
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
  if (result < min || result > max) require(false, fmt::format("an integer from {} to {}", min, max));
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
