#include "text/pre_tokenizer.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace mlxcel::text {
namespace {

// Patterns that files leave out because the code that reads them is expected to know them.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr size_t kMaxSteps = 32;

}  // namespace

void PreTokenizer::parse_item(const base::JsonField& field, bool last) {
  // Names of the behaviours as the reference's files have them.
  constexpr std::array<std::pair<std::string_view, Behavior>, 5> kBehaviors = {{
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  }};
  const std::string type = field.at("type").as_string();
  if (type == "ByteLevel") {
    if (!last) throw base::unsupported("{}: ByteLevel is not the last step", field.where());
    add_byte_level(field);
  } else if (type == "Digits") {
    const bool each = field.at("individual_digits").as_bool();
    steps_.push_back({Regex::oniguruma("\\p{N}", field.where()),
                      each ? Behavior::kIsolated : Behavior::kContiguous});
  } else if (type == "Split") {
    const auto pattern = field.at("pattern");
    const auto regex = pattern.find("Regex");
    const auto source = regex ? *regex : pattern.at("String");
    const auto behavior = field.at("behavior").as_string();
    const auto known = std::find_if(kBehaviors.begin(), kBehaviors.end(),
                                    [&](const auto& row) { return row.first == behavior; });
    if (known == kBehaviors.end()) {
      throw base::unsupported("{}: behavior '{}' is not supported", field.where(),
                              behavior.substr(0, 40));
    }
    steps_.push_back({regex ? Regex::oniguruma(source.as_string(), source.where())
                            : Regex::literal(source.as_string(), source.where()),
                      known->second, field.bool_or("invert", false)});
  } else {
    throw base::unsupported(
        "{}: pre_tokenizer type '{}' is not supported (Sequence, Split, Digits, ByteLevel are)",
        field.where(), type.substr(0, 40));
  }
}

void PreTokenizer::add_byte_level(const base::JsonField& field) {
  if (field.at("add_prefix_space").as_bool()) steps_.emplace_back();
  if (field.bool_or("use_regex", true)) {
    steps_.push_back({Regex::oniguruma(kGpt2Pattern, field.where()), Behavior::kIsolated});
  }
}

PreTokenizer PreTokenizer::parse(const base::JsonField& field) {
  PreTokenizer result;
  std::vector<base::JsonField> items = {field};
  if (field.at("type").as_string() == "Sequence") items = field.at("pretokenizers").as_list();
  if (items.empty() || items.size() > kMaxSteps) {
    throw base::bad_input("{}: {} steps, expected 1 to {}", field.where(), items.size(), kMaxSteps);
  }
  for (size_t i = 0; i < items.size(); ++i) result.parse_item(items[i], i + 1 == items.size());
  if (items.back().at("type").as_string() != "ByteLevel") {
    throw base::unsupported("{}: the last step is not ByteLevel; only byte-level BPE is supported",
                            field.where());
  }
  return result;
}

PreTokenizer PreTokenizer::qwen2() {
  PreTokenizer result;
  result.steps_.push_back(
      {Regex::oniguruma(kQwen2Pattern, "the Qwen2 pattern"), Behavior::kIsolated});
  return result;
}

void PreTokenizer::split_piece(const Step& step, std::string_view piece,
                               std::vector<std::string_view>& out) {
  // Pieces as ranges, so that a behaviour can widen the last one; removed ones are never made.
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> ranges;
  bool previous = false;  // whether the range before was a match
  const auto add = [&](size_t begin, size_t end, bool is_match) {
    if (step.invert) is_match = !is_match;
    switch (step.behavior) {
      case Behavior::kRemoved:
        if (!is_match) ranges.push_back({begin, end});
        break;
      case Behavior::kIsolated:
        ranges.push_back({begin, end});
        break;
      case Behavior::kMergedWithPrevious:
        if (is_match && !previous && !ranges.empty()) {
          ranges.back().end = end;
        } else {
          ranges.push_back({begin, end});
        }
        break;
      case Behavior::kMergedWithNext:
        // A lone match waits in the last range for what follows it; a second match does not join.
        if (!is_match && previous && !ranges.empty()) {
          ranges.back().end = end;
        } else {
          ranges.push_back({begin, end});
        }
        break;
      case Behavior::kContiguous:
        if (is_match == previous && !ranges.empty()) {
          ranges.back().end = end;
        } else {
          ranges.push_back({begin, end});
        }
        break;
    }
    previous = is_match;
  };
  Regex::Searcher searcher(*step.pattern, piece);
  size_t done = 0;
  while (const auto match = searcher.next()) {
    if (done < match->begin) add(done, match->begin, false);
    add(match->begin, match->end, true);
    done = match->end;
  }
  if (done < piece.size()) add(done, piece.size(), false);
  for (const Range& range : ranges) {
    if (range.begin < range.end) out.push_back(piece.substr(range.begin, range.end - range.begin));
  }
}

void PreTokenizer::split(std::string_view text, std::deque<std::string>& added,
                         std::vector<std::string_view>& words) const {
  std::vector<std::string_view> pieces;
  if (!text.empty()) pieces.push_back(text);
  for (const Step& step : steps_) {
    std::vector<std::string_view> next;
    next.reserve(pieces.size());
    for (const std::string_view piece : pieces) {
      if (step.pattern) {
        split_piece(step, piece, next);
      } else if (piece.starts_with(' ')) {
        next.push_back(piece);
      } else {
        next.push_back(added.emplace_back(" " + std::string(piece)));
      }
    }
    pieces = std::move(next);
  }
  words.insert(words.end(), pieces.begin(), pieces.end());
}

}  // namespace mlxcel::text
