// From the files of a checkpoint to a tokenizer.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "text/byte_level.h"
#include "text/tokenizer_file.h"
#include "text/tokenizer_state.h"

namespace mlxcel::text {
namespace {

using base::JsonField;

constexpr size_t kMaxFile = size_t{128} << 20;

// The settings of a BPE model that change its tokens: each must have the value that this program
// does.
struct ModelSettings {
  bool ignore_merges = false;
  bool has_unknown_token = false;
};

ModelSettings check_model(const JsonField& model) {
  const std::string type = model.string_or("type", "BPE");
  if (type != "BPE") {
    throw base::unsupported("{}: model type '{}' is not supported (BPE is)", model.where(),
                            type.substr(0, 40));
  }
  for (const auto* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.string_or(affix, "").empty())
      throw base::unsupported("{}: '{}' is not supported", model.where(), affix);
  }
  if (model.bool_or("byte_fallback", false))
    throw base::unsupported("{}: 'byte_fallback' is not supported", model.where());
  if (model.number_or("dropout", 0.0) != 0.0)
    throw base::unsupported("{}: 'dropout' is not supported", model.where());
  return {model.bool_or("ignore_merges", false), !model.string_or("unk_token", "").empty()};
}

void check_decoder(const JsonField& document) {
  const auto decoder = document.find("decoder");
  if (!decoder)
    throw base::unsupported("{}: a tokenizer without a decoder is not supported (ByteLevel is)",
                            document.where());
  const std::string type = decoder->at("type").as_string();
  if (type != "ByteLevel") {
    throw base::unsupported("{}: decoder type '{}' is not supported (ByteLevel is)",
                            decoder->where(), type.substr(0, 40));
  }
}

AddedToken read_added_token(const JsonField& field, int64_t id) {
  AddedToken token;
  token.content = field.at("content").as_string();
  token.id = static_cast<int32_t>(id);
  token.special = field.bool_or("special", false);
  token.normalized = field.bool_or("normalized", !token.special);
  token.lstrip = field.bool_or("lstrip", false);
  token.rstrip = field.bool_or("rstrip", false);
  token.single_word = field.bool_or("single_word", false);
  return token;
}

// The added_tokens_decoder of a tokenizer_config.json: an object of id -> token.
std::vector<AddedToken> read_added_tokens_decoder(const JsonField& config) {
  std::vector<AddedToken> tokens;
  const auto decoder = config.find("added_tokens_decoder");
  if (!decoder) return tokens;
  if (!decoder->value().is_object())
    throw base::bad_input("{}: expected an object", decoder->where());
  for (const auto& [key, value] : decoder->value().items()) {
    const bool digits =
        !key.empty() && key.size() <= 7 &&
        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    const int64_t id = digits ? std::stol(key) : -1;
    if (id < 0 || id > Vocab::kMaxId) {
      throw base::bad_input("{}: the id '{}' is not an integer from 0 to {}", decoder->where(),
                            key.substr(0, 40), Vocab::kMaxId);
    }
    tokens.push_back(read_added_token(decoder->at(key), id));
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

}  // namespace

void Tokenizer::State::index_bytes(const TokenizerOptions& options, const std::string& file) {
  int32_t end = vocab.id_end();
  for (const AddedToken& token : added.tokens()) end = std::max(end, token.id + 1);
  if (end == 0) throw base::bad_input("{}: the vocabulary is empty", file);
  bytes.resize(static_cast<size_t>(end));
  for (int32_t id = 0; id < end; ++id) {
    const AddedToken* token = added.by_id(id);
    const auto spelling =
        token != nullptr ? std::optional<std::string_view>(token->content) : vocab.spelling(id);
    if (!spelling) continue;
    std::string text(*spelling);
    // Like the reference, a token that is looked for in normalised text stands for such text.
    if (token != nullptr && token->normalized) text = normalizer.apply({text, {}}).text;
    const std::string raw = unspell(text);
    bytes[static_cast<size_t>(id)] = {static_cast<uint32_t>(bytes_blob.size()),
                                      static_cast<uint32_t>(raw.size()),
                                      token != nullptr && token->special};
    bytes_blob += raw;
  }
  id_end = std::max(end, options.padded_vocab);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name,
                               const TokenizerOptions& options) {
  TokenizerFile file = parse_tokenizer_file(text, name);
  const JsonField document(file.rest, name);
  const JsonField model = document.at("model");
  const ModelSettings settings = check_model(model);
  if (!file.has_vocab) throw base::bad_input("{}: 'model.vocab' is missing or not an object", name);
  if (!file.has_merges) throw base::bad_input("{}: 'model.merges' is missing or not a list", name);
  check_decoder(document);

  auto state =
      std::make_shared<State>(std::move(file.vocab), file.merges, settings.ignore_merges, name);
  if (settings.has_unknown_token && !state->bpe.covers_all_bytes()) {
    throw base::unsupported(
        "{}: 'model.unk_token' with a vocabulary that lacks some of the 256 bytes", name);
  }
  if (const auto normalizer = document.find("normalizer"))
    state->normalizer = Normalizer::parse(*normalizer);
  const auto pre_tokenizer = document.find("pre_tokenizer");
  if (!pre_tokenizer)
    throw base::unsupported("{}: a tokenizer without a pre_tokenizer is not supported", name);
  state->pre_tokenizer = PreTokenizer::parse(*pre_tokenizer);
  std::vector<AddedToken> added;
  if (const auto tokens = document.find("added_tokens")) {
    for (const JsonField& token : tokens->as_list()) {
      added.push_back(read_added_token(token, token.int_at("id", 0, Vocab::kMaxId)));
    }
  }
  state->added = AddedTokens(std::move(added), state->vocab, state->normalizer, name);
  state->index_bytes(options, name);
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::load(const std::filesystem::path& checkpoint_dir,
                          const TokenizerOptions& options) {
  const auto path = checkpoint_dir / "tokenizer.json";
  if (std::filesystem::exists(path)) {
    return from_json(base::read_file(path, kMaxFile), path.string(), options);
  }
  const auto vocab_path = checkpoint_dir / "vocab.json";
  const auto merges_path = checkpoint_dir / "merges.txt";
  const auto config_path = checkpoint_dir / "tokenizer_config.json";
  for (const auto& needed : {vocab_path, merges_path}) {
    if (!std::filesystem::exists(needed)) {
      throw base::not_found("{}: no tokenizer.json, and no {} in its place",
                            checkpoint_dir.string(), needed.filename().string());
    }
  }
  const std::string name = vocab_path.string();
  const MergeList merges =
      parse_merges(base::read_file(merges_path, kMaxFile), merges_path.string());
  auto state =
      std::make_shared<State>(parse_vocab(base::read_file(vocab_path, kMaxFile), name), merges,
                              /*ignore_merges=*/false, merges_path.string());
  state->normalizer = Normalizer({Normalizer::Form::kNfc});
  state->pre_tokenizer = PreTokenizer::qwen2();
  std::vector<AddedToken> added;
  if (std::filesystem::exists(config_path)) {
    const base::Json config =
        parse_bounded_json(base::read_file(config_path, kMaxFile), config_path.string());
    added = read_added_tokens_decoder(JsonField(config, config_path.string()));
  }
  state->added =
      AddedTokens(std::move(added), state->vocab, state->normalizer, config_path.string());
  state->index_bytes(options, name);
  return Tokenizer(std::move(state));
}

}  // namespace mlxcel::text
