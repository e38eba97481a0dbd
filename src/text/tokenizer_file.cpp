#include "text/tokenizer_file.h"

#include <vector>

#include "base/error.h"

namespace mlxcel::text {
namespace {

using base::Json;

constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxValues = 500'000;  // of the document tree
constexpr size_t kMaxMembers = 4096;    // of one object in it: finding a member takes linear time

// Splits "left right" at its only space. False for anything else.
bool add_merge(std::string_view line, MergeList& merges) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    return false;
  merges.add(line.substr(0, space), line.substr(space + 1));
  return true;
}

// Builds the document tree, and gives the two large parts of a tokenizer.json to their tables.
class Reader : public nlohmann::json_sax<Json> {
 public:
  enum class Kind { kTokenizer, kVocab, kPlain };

  Reader(Kind kind, const std::string& name) : kind_(kind), name_(name) {}
  TokenizerFile take() { return std::move(file_); }

  bool null() override { return scalar(Json(nullptr)); }
  bool boolean(bool value) override { return scalar(Json(value)); }
  bool number_integer(number_integer_t value) override {
    if (part_ == Part::kVocab) bad_id();  // negative: the library reports others as unsigned
    return scalar(Json(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (part_ != Part::kVocab) return scalar(Json(value));
    if (value > static_cast<number_unsigned_t>(Vocab::kMaxId)) bad_id();
    switch (file_.vocab.add(key_, static_cast<int32_t>(value))) {
      case Vocab::Added::kYes:
        return true;
      case Vocab::Added::kSpellingTaken:
        throw base::bad_input("{}: the token '{}' is listed twice", name_, shown(key_));
      case Vocab::Added::kIdTaken:
        throw base::bad_input("{}: the token '{}' has the id {}, which another token has", name_,
                              shown(key_), value);
    }
    return false;
  }
  bool number_float(number_float_t value, const string_t& /*source*/) override {
    return scalar(Json(value));
  }
  bool binary(binary_t& /*value*/) override { return false; }

  bool string(string_t& value) override {
    if (part_ == Part::kMerges) {
      if (!add_merge(value, file_.merges)) bad_merge();
      return true;
    }
    if (part_ == Part::kPair) {
      if (++pair_size_ > 2) bad_merge();
      (pair_size_ == 1 ? left_ : right_) = std::move(value);
      return true;
    }
    return scalar(Json(std::move(value)));
  }

  bool start_object(size_t /*size*/) override { return start(Json::object()); }
  bool start_array(size_t /*size*/) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(string_t& value) override {
    key_ = std::move(value);
    if (part_ == Part::kDocument && stack_.back()->size() >= kMaxMembers) {
      throw base::bad_input("{}: an object with more than {} members", name_, kMaxMembers);
    }
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    throw base::bad_input("{}: not valid JSON near byte {}", name_, position);
  }

 private:
  enum class Part { kDocument, kVocab, kMerges, kPair, kSkipped };

  static std::string_view shown(std::string_view text) { return text.substr(0, 40); }
  [[noreturn]] void bad_id() const {
    throw base::bad_input("{}: the id of token '{}' is not an integer from 0 to {}", name_,
                          shown(key_), Vocab::kMaxId);
  }
  [[noreturn]] void bad_merge() const {
    throw base::bad_input("{}: merge {} is not a pair of two tokens", name_, file_.merges.size());
  }

  bool scalar(Json value) {
    if (part_ == Part::kVocab) bad_id();
    if (part_ == Part::kMerges || part_ == Part::kPair) bad_merge();
    if (part_ == Part::kDocument) add(std::move(value));
    return true;
  }

  Json& add(Json value) {
    if (++values_ > kMaxValues) throw base::bad_input("{}: more than {} values", name_, kMaxValues);
    if (stack_.empty()) return file_.rest = std::move(value);
    Json& parent = *stack_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }

  bool start(Json container) {
    if (++depth_ > kMaxDepth)
      throw base::bad_input("{}: nested deeper than {} levels", name_, kMaxDepth);
    switch (part_) {
      case Part::kSkipped:
        return true;
      case Part::kVocab:
        bad_id();
      case Part::kPair:
        bad_merge();
      case Part::kMerges:
        if (container.is_object()) bad_merge();
        part_ = Part::kPair;
        pair_size_ = 0;
        return true;
      case Part::kDocument:
        break;
    }
    const Part part = part_at_start(container);
    if (part != Part::kDocument) {
      part_ = part;
      part_depth_ = depth_;
      return true;
    }
    // Pointers into the tree stay good: a parent does not grow while a child is open.
    const bool is_model = stack_.size() == 1 && stack_[0]->is_object() && key_ == "model";
    Json& added = add(std::move(container));
    stack_.push_back(&added);
    if (stack_.size() == 2) in_model_ = is_model;
    return true;
  }

  // Which part begins with this container.
  Part part_at_start(const Json& container) {
    if (kind_ == Kind::kVocab && depth_ == 1 && container.is_object()) return Part::kVocab;
    const bool model_member =
        kind_ == Kind::kTokenizer && in_model_ && stack_.size() == 2 && stack_[1]->is_object();
    if (!model_member) return Part::kDocument;
    const auto once = [&](bool& seen) {
      if (seen) throw base::bad_input("{}: 'model.{}' is listed twice", name_, key_);
      seen = true;
    };
    if (key_ == "vocab") {
      if (!container.is_object()) return Part::kSkipped;
      once(file_.has_vocab);
      return Part::kVocab;
    }
    if (key_ == "merges") {
      if (!container.is_array()) return Part::kSkipped;
      once(file_.has_merges);
      return Part::kMerges;
    }
    return Part::kDocument;
  }

  bool end() {
    const size_t depth = depth_--;
    if (part_ == Part::kPair) {
      if (pair_size_ != 2) bad_merge();
      file_.merges.add(left_, right_);
      part_ = Part::kMerges;
    } else if (part_ == Part::kDocument) {
      stack_.pop_back();
    } else if (depth == part_depth_) {
      part_ = Part::kDocument;
    }
    return true;
  }

  const Kind kind_;
  const std::string& name_;
  TokenizerFile file_;
  Part part_ = Part::kDocument;
  size_t part_depth_ = 0;  // depth of the container that began the part
  size_t depth_ = 0;
  size_t values_ = 0;
  std::vector<Json*> stack_;  // open containers of the document tree
  bool in_model_ = false;     // the second of them is the member "model" of the first
  std::string key_;
  std::string left_, right_;
  int pair_size_ = 0;
};

TokenizerFile read(std::string_view text, const std::string& name, Reader::Kind kind) {
  Reader reader(kind, name);
  try {
    if (!Json::sax_parse(text.begin(), text.end(), &reader))
      throw base::bad_input("{}: not valid JSON", name);
  } catch (const nlohmann::json::exception&) {
    throw base::bad_input("{}: not valid JSON (number out of range or bad text)", name);
  }
  return reader.take();
}

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& name) {
  return read(text, name, Reader::Kind::kTokenizer);
}

Vocab parse_vocab(std::string_view text, const std::string& name) {
  TokenizerFile file = read(text, name, Reader::Kind::kVocab);
  if (!file.rest.is_null() || file.vocab.size() == 0) {
    throw base::bad_input("{}: expected an object of tokens and their ids", name);
  }
  return std::move(file.vocab);
}

base::Json parse_bounded_json(std::string_view text, const std::string& name) {
  return read(text, name, Reader::Kind::kPlain).rest;
}

MergeList parse_merges(std::string_view text, const std::string& name) {
  MergeList merges;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    if (!add_merge(line, merges))
      throw base::bad_input("{}: merge {} is not a pair of two tokens", name, merges.size());
  }
  return merges;
}

}  // namespace mlxcel::text
