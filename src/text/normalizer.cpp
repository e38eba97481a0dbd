#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "base/utf8.h"
#include "text/characters.h"

namespace mlxcel::text {
namespace {

using Form = Normalizer::Form;

struct FormRow {
  std::string_view name;
  Form form;
  int options;
};
constexpr std::array<FormRow, 4> kForms = {{
    {"NFC", Form::kNfc, UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", Form::kNfd, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", Form::kNfkc, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", Form::kNfkd, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
}};

constexpr size_t kLongestDecomposition = 18;  // of one character (U+FDFA)

int combining_class(int32_t c) { return utf8proc_get_property(c)->combining_class; }

// Whether nothing in front of this (fully decomposed) character can combine with it or be reordered
// behind it. Marks and the trailing Hangul letters are what can.
bool stands_alone(int32_t c) {
  if (c < 0x80) return true;
  if ((c >= 0x1160 && c <= 0x11FF) || (c >= 0xD7B0 && c <= 0xD7FF)) return false;
  const utf8proc_property_t* property = utf8proc_get_property(c);
  return property->combining_class == 0 && property->category != UTF8PROC_CATEGORY_MN &&
         property->category != UTF8PROC_CATEGORY_MC && property->category != UTF8PROC_CATEGORY_ME;
}

// Decomposed characters from one that stands alone up to the next: the unit of normalisation. The
// library would do a whole text at once, but sorts runs of marks in quadratic time.
class Unit {
 public:
  bool empty() const { return characters_.empty(); }
  void add(std::span<const int32_t> decomposed, bool literal) {
    characters_.insert(characters_.end(), decomposed.begin(), decomposed.end());
    literal_ = literal_ || literal;
  }

  void flush(const FormRow& row, MarkedText& out) {
    for (auto begin = characters_.begin(); begin != characters_.end();) {
      const auto is_starter = [](int32_t c) { return combining_class(c) == 0; };
      begin = std::find_if_not(begin, characters_.end(), is_starter);
      const auto end = std::find_if(begin, characters_.end(), is_starter);
      std::stable_sort(
          begin, end, [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
      begin = end;
    }
    const auto count = utf8proc_normalize_utf32(characters_.data(),
                                                static_cast<utf8proc_ssize_t>(characters_.size()),
                                                static_cast<utf8proc_option_t>(row.options));
    if (count < 0)
      throw base::internal_error("normalising text failed: {}", utf8proc_errmsg(count));
    const size_t begin = out.text.size();
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      base::append_utf8(out.text, static_cast<char32_t>(characters_[static_cast<size_t>(i)]));
    }
    if (literal_) out.literal.append({begin, out.text.size()});
    characters_.clear();
    literal_ = false;
  }

 private:
  std::vector<int32_t> characters_;
  bool literal_ = false;
};

MarkedText normalize(const MarkedText& input, const FormRow& row) {
  const std::string_view text = input.text;
  MarkedText out;
  out.text.reserve(text.size());
  Unit unit;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    std::array<int32_t, kLongestDecomposition> decomposed{};
    int last_boundary = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<int32_t>(c.value), decomposed.data(), decomposed.size(),
                                static_cast<utf8proc_option_t>(row.options), &last_boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(decomposed.size())) {
      throw base::internal_error("normalising U+{:04X} failed", static_cast<uint32_t>(c.value));
    }
    const std::span<const int32_t> characters(decomposed.data(), static_cast<size_t>(count));
    if (!unit.empty() && !characters.empty() && stands_alone(characters[0])) unit.flush(row, out);
    unit.add(characters, input.literal.overlap(at, at + c.length));
    at += c.length;
  }
  if (!unit.empty()) unit.flush(row, out);
  return out;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

void collect(const base::JsonField& field, std::vector<Form>& forms) {
  const std::string type = field.at("type").as_string();
  if (type == "Sequence") {
    for (const auto& item : field.at("normalizers").as_list()) collect(item, forms);
    return;
  }
  const auto row =
      std::find_if(kForms.begin(), kForms.end(), [&](const FormRow& r) { return r.name == type; });
  if (row == kForms.end()) {
    throw base::unsupported(
        "{}: normalizer type '{}' is not supported (NFC, NFD, NFKC, NFKD, Sequence are)",
        field.where(), type.substr(0, 40));
  }
  forms.push_back(row->form);
}

}  // namespace

Normalizer Normalizer::parse(const base::JsonField& field) {
  std::vector<Form> forms;
  collect(field, forms);
  return Normalizer(std::move(forms));
}

MarkedText Normalizer::apply(MarkedText input) const {
  for (const Form form : forms_) {
    if (is_ascii(input.text)) break;
    input = normalize(input, *std::find_if(kForms.begin(), kForms.end(),
                                           [&](const FormRow& r) { return r.form == form; }));
  }
  return input;
}

}  // namespace mlxcel::text
