#include "text/chat_template.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "text/jinja_eval.h"
#include "text/jinja_parser.h"

namespace mlxcel::text {
namespace {

using base::bad_input;
using base::Json;
using base::JsonField;
namespace fs = std::filesystem;

constexpr size_t kMaxTemplateBytes = size_t{1} << 20U;
constexpr const char* kTokenNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
constexpr std::string_view kReasoningFields[] = {"reasoning_content", "thinking", "reasoning"};
constexpr std::string_view kRoles[] = {"system",      "developer",    "user",     "assistant",
                                       "model",       "tool",         "function", "ipython",
                                       "observation", "tool_response"};

// JSON to values. What is text in it is the caller's.
class Converter {
 public:
  Converter(Budget& budget, std::string where) : budget_(budget), where_(std::move(where)) {}

  Value convert(const Json& json, int depth = 0) {
    if (depth >= budget_.limits().value_depth) {
      throw bad_input("{}: nested deeper than {} levels", where_, budget_.limits().value_depth);
    }
    budget_.step();
    switch (json.type()) {
      case Json::value_t::null:
        return None{};
      case Json::value_t::boolean:
        return json.get<bool>();
      case Json::value_t::number_integer:
        return json.get<int64_t>();
      case Json::value_t::number_unsigned: {
        const auto number = json.get<uint64_t>();
        if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          throw bad_input("{}: the number {} does not fit in 64 bits", where_, number);
        }
        return static_cast<int64_t>(number);
      }
      case Json::value_t::number_float:
        return json.get<double>();
      case Json::value_t::string:
        return text(json.get_ref<const std::string&>());
      case Json::value_t::array: {
        std::vector<Value> items;
        for (const Json& item : json) items.push_back(convert(item, depth + 1));
        return make_list(budget_, std::move(items));
      }
      case Json::value_t::object:
        return Dict::build(budget_, entries(json, depth));
      default:
        throw bad_input("{}: binary data, expected JSON values", where_);
    }
  }

  Value text(const std::string& bytes) {
    budget_.allocate(bytes.size() + sizeof(Text));
    if (!base::is_valid_utf8(bytes)) throw bad_input("{}: a string is not valid UTF-8", where_);
    return make_text(bytes, Origin::kCaller);
  }

  std::vector<Dict::Entry> entries(const Json& object, int depth) {
    std::vector<Dict::Entry> result;
    for (const auto& [key, value] : object.items())
      result.emplace_back(text(key), convert(value, depth + 1));
    return result;
  }

 private:
  Budget& budget_;
  std::string where_;
};

// A message as templates expect it: see ChatTemplate::render.
Value convert_message(Budget& budget, const Json& message, size_t index) {
  Converter converter(budget, fmt::format("messages[{}]", index));
  if (!message.is_object())
    throw bad_input("messages[{}] is {}, expected an object", index, message.type_name());
  const Json* reasoning = nullptr;
  for (const std::string_view field : kReasoningFields) {
    const auto found = message.find(field);
    if (reasoning == nullptr && found != message.end() && !found->is_null()) reasoning = &*found;
  }
  std::vector<Dict::Entry> entries;  // of equal keys, the last value wins at the first place
  if (reasoning != nullptr)
    entries.emplace_back(make_text("thinking"), converter.convert(*reasoning));
  for (const auto& [key, value] : message.items()) {
    if (value.is_null()) continue;
    const bool word = key == "role" && value.is_string() &&
                      std::find(std::begin(kRoles), std::end(kRoles),
                                value.get_ref<const std::string&>()) != std::end(kRoles);
    entries.emplace_back(converter.text(key), word ? Value(make_text(value.get<std::string>()))
                                                   : converter.convert(value, 2));
  }
  if (reasoning != nullptr)
    entries.emplace_back(make_text("reasoning_content"), converter.convert(*reasoning));
  return Dict::build(budget, std::move(entries));
}

Value convert_list(Budget& budget, const Json& list, const std::string& name) {
  if (list.is_null()) return None{};
  if (!list.is_array())
    throw bad_input("{} is {}, expected a list of objects", name, list.type_name());
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object())
      throw bad_input("{}[{}] is {}, expected an object", name, i, list[i].type_name());
  }
  return Converter(budget, name).convert(list);
}

std::tm system_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  return local;
}

// `chat_template` of a JSON file: the text, or "default" of a list; nothing when it has none.
std::optional<std::string> template_in(const JsonField& file) {
  const auto field = file.find("chat_template");
  if (!field) return std::nullopt;
  if (!field->value().is_array()) return field->as_string();
  for (const JsonField& entry : field->as_list()) {
    if (entry.at("name").as_string() == "default") return entry.at("template").as_string();
  }
  throw bad_input("{} has no template named 'default'", field->where());
}

std::optional<Json> load_if_there(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  return base::load_json(path);
}

using Tokens = std::vector<std::pair<std::string, std::string>>;

void add_token(Tokens& tokens, const std::string& name, const JsonField& field) {
  const bool known = std::any_of(tokens.begin(), tokens.end(),
                                 [&](const auto& token) { return token.first == name; });
  if (known) return;
  std::string text =
      field.value().is_object() ? field.at("content").as_string() : field.as_string();
  if (!base::is_valid_utf8(text)) throw bad_input("{} is not valid UTF-8", field.where());
  tokens.emplace_back(name, std::move(text));
}

void add_tokens(Tokens& tokens, const JsonField& file) {
  for (const char* name : kTokenNames) {
    if (const auto field = file.find(name)) add_token(tokens, name, *field);
  }
  // Tokens of multimodal checkpoints by name (image_token, ...), under either of two keys.
  for (const char* group : {"extra_special_tokens", "model_specific_special_tokens"}) {
    const auto extra = file.find(group);
    if (!extra || !extra->value().is_object()) continue;
    for (const auto& [name, value] : extra->value().items()) {
      if (value.is_string() || value.is_object()) add_token(tokens, name, extra->at(name));
    }
  }
}

}  // namespace

ChatTemplate ChatTemplate::parse(const std::string& source, const std::string& name) {
  ChatTemplate result;
  result.template_ = std::make_shared<const Template>(parse_template(source, name));
  return result;
}

ChatTemplate ChatTemplate::load(const fs::path& checkpoint_dir) {
  const fs::path jinja = checkpoint_dir / "chat_template.jinja";
  const fs::path json = checkpoint_dir / "chat_template.json";
  const fs::path config = checkpoint_dir / "tokenizer_config.json";
  const auto tokenizer = load_if_there(config);
  const auto find_template = [&]() -> std::pair<std::string, fs::path> {
    if (fs::exists(jinja)) return {base::read_file(jinja, kMaxTemplateBytes), jinja};
    if (const auto file = load_if_there(json)) {
      if (auto source = template_in({*file, json.string()})) return {*source, json};
    }
    if (tokenizer) {
      if (auto source = template_in({*tokenizer, config.string()})) return {*source, config};
    }
    throw base::not_found(
        "{}: no chat template, expected chat_template.jinja, chat_template.json or "
        "'chat_template' in tokenizer_config.json",
        checkpoint_dir.string());
  };
  const auto [source, path] = find_template();
  ChatTemplate result = parse(source, path.string());
  if (tokenizer) add_tokens(result.special_tokens_, {*tokenizer, config.string()});
  const fs::path map = checkpoint_dir / "special_tokens_map.json";
  if (const auto file = load_if_there(map))
    add_tokens(result.special_tokens_, {*file, map.string()});
  return result;
}

RenderedPrompt ChatTemplate::render(const Json& messages, const RenderOptions& options) const {
  Runtime runtime(options.limits);
  runtime.clock = options.clock ? options.clock : system_time;
  Budget& budget = runtime.budget;
  Variables variables;
  for (const auto& [name, token] : special_tokens_) variables[name] = make_text(token);
  if (!options.variables.is_null()) {
    if (!options.variables.is_object()) {
      throw bad_input("the template's variables are {}, expected an object",
                      options.variables.type_name());
    }
    for (const auto& [name, value] : options.variables.items()) {
      variables[name] = Converter(budget, "variable '" + name.substr(0, 60) + "'").convert(value);
    }
  }
  for (const char* name : {"messages", "tools", "documents", "add_generation_prompt"}) {
    if (variables.contains(name))
      throw bad_input("variable '{}' is set by the conversation, not by name", name);
  }
  if (!messages.is_array())
    throw bad_input("messages is {}, expected a list of objects", messages.type_name());
  std::vector<Value> converted;
  for (size_t i = 0; i < messages.size(); ++i)
    converted.push_back(convert_message(budget, messages[i], i));
  variables["messages"] = make_list(budget, std::move(converted));
  variables["tools"] = convert_list(budget, options.tools, "tools");
  variables["documents"] = convert_list(budget, options.documents, "documents");
  variables["add_generation_prompt"] = options.add_generation_prompt;
  Text rendered = Evaluator(*template_, runtime, variables).render();
  return {std::move(rendered.bytes), std::move(rendered.literal)};
}

}  // namespace mlxcel::text
