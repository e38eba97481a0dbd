// `inspect` and `list`: what a checkpoint is, from its config and the headers of its files. No
// weights are read.
#include <fstream>
#include <iostream>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "cli/actions.h"
#include "cli/model_store.h"
#include "models/registry.h"

namespace mlxcel::cli {
namespace {

struct Part {
  int64_t parameters = 0;
  uint64_t bytes = 0;
};

struct Summary {
  std::string model_type;
  std::string description;
  std::string layout;
  std::map<std::string, Part> parts;  // "text", "visual", "head"
  std::map<int, int64_t> parameters_by_bits;
  int64_t context_limit = 0;
  int64_t kv_bytes_per_token = 0;  // f32
  int64_t layers = 0;
};

void add_matrix(Summary& summary, const std::string& name, const kernels::WeightView& view) {
  const int64_t count = view.out * view.in;
  const int bits =
      view.quantized() ? view.bits : static_cast<int>(8 * base::dtype_size(view.dtype));
  uint64_t bytes = static_cast<uint64_t>(count) * static_cast<uint64_t>(bits) / 8;
  if (view.quantized()) {
    bytes += 2 * static_cast<uint64_t>(view.out * (view.in / view.group_size)) *
             base::dtype_size(view.dtype);
  }
  Part& part = summary.parts[name.substr(0, name.find('.'))];
  part.parameters += count;
  part.bytes += bytes;
  summary.parameters_by_bits[bits] += count;
}

Summary summarize(const std::filesystem::path& folder) {
  const auto config = models::load_family_config(folder);
  const auto tensors = checkpoint::TensorSet::open(folder);
  const auto weights = checkpoint::Weights::load(tensors, config->schema, config->quantization,
                                                 checkpoint::WeightContent::kHeaders);
  const models::ModelInfo& info = config->info;
  Summary summary = {.model_type = info.model_type,
                     .description = info.description,
                     .layout = weights.layout(),
                     .context_limit = info.context_limit,
                     .kv_bytes_per_token = ops::KvCacheShape{.layers = info.layers,
                                                             .kv_heads = info.kv_heads,
                                                             .head_dim = info.head_dim}
                                               .bytes_per_token(),
                     .layers = info.layers};
  for (const auto& [name, matrix] : weights.matrices()) add_matrix(summary, name, matrix.view);
  for (const checkpoint::TensorRow& row : config->schema.rows) {
    if (row.role != checkpoint::TensorRole::kVector) continue;
    const int64_t count = row.shape.front() * std::max<int64_t>(1, row.count);
    Part& part = summary.parts[row.name.substr(0, row.name.find('.'))];
    part.parameters += count;
    part.bytes += static_cast<uint64_t>(count) * sizeof(float);
  }
  return summary;
}

std::string count_text(int64_t count) {
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", static_cast<double>(count) / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
  return fmt::format("{:.1f} k", static_cast<double>(count) / 1e3);
}

std::string bytes_text(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= (uint64_t{1} << 30)) return fmt::format("{:.2f} GiB", value / 1073741824.0);
  if (bytes >= (uint64_t{1} << 20)) return fmt::format("{:.1f} MiB", value / 1048576.0);
  return fmt::format("{:.1f} KiB", value / 1024.0);
}

std::string_view part_title(const std::string& name) {
  if (name == "text") return "decoder";
  if (name == "visual") return "vision tower";
  return "output head";
}

Part total_of(const Summary& summary) {
  Part total;
  for (const auto& [name, part] : summary.parts) {
    total.parameters += part.parameters;
    total.bytes += part.bytes;
  }
  return total;
}

void print_summary(const std::filesystem::path& folder, const Summary& s) {
  const Part total = total_of(s);
  std::cout << fmt::format("{}\n  family       {} ({})\n  layout       {}\n  parameters   {}\n",
                           folder.string(), s.model_type, s.description, s.layout,
                           count_text(total.parameters));
  std::cout << "  weights      ";
  bool first = true;
  for (const auto& [bits, count] : s.parameters_by_bits) {
    std::cout << fmt::format("{}{} at {} bits", first ? "" : ", ", count_text(count), bits);
    first = false;
  }
  std::cout << fmt::format("\n  context      up to {} tokens\n\n  memory\n", s.context_limit);
  for (const auto& [name, part] : s.parts) {
    std::cout << fmt::format("    {:<18} {:>12}   {} parameters\n", part_title(name),
                             bytes_text(part.bytes), count_text(part.parameters));
  }
  const auto per_thousand = static_cast<uint64_t>(s.kv_bytes_per_token) * 1000;
  std::cout << fmt::format(
      "    {:<18} {:>12}\n    {:<18} {:>12}   for each 1,000 tokens (f32), {} with --kv-type "
      "bf16\n",
      "all weights", bytes_text(total.bytes), "context", bytes_text(per_thousand),
      bytes_text(per_thousand / 2));
}

base::Json to_json(const std::filesystem::path& folder, const Summary& s) {
  const Part total = total_of(s);
  base::Json parts = base::Json::object();
  for (const auto& [name, part] : s.parts) {
    parts[std::string(part_title(name))] = {{"parameters", part.parameters}, {"bytes", part.bytes}};
  }
  base::Json bits = base::Json::object();
  for (const auto& [width, count] : s.parameters_by_bits) bits[std::to_string(width)] = count;
  return {{"folder", folder.string()},
          {"model_type", s.model_type},
          {"description", s.description},
          {"layout", s.layout},
          {"parameters", total.parameters},
          {"weight_bytes", total.bytes},
          {"parameters_by_bits", bits},
          {"parts", parts},
          {"layers", s.layers},
          {"context_limit", s.context_limit},
          {"kv_bytes_per_token", s.kv_bytes_per_token}};
}

}  // namespace

int run_inspect(const FlagValues& flags) {
  const std::filesystem::path folder = find_model(flags.text("--model"));
  const Summary summary = summarize(folder);
  if (flags.on("--json")) {
    std::cout << to_json(folder, summary).dump(2, ' ', false, base::Json::error_handler_t::replace)
              << "\n";
  } else {
    print_summary(folder, summary);
  }
  return 0;
}

int run_list(const FlagValues& flags) {
  const std::string extra = flags.has("--models-dir") ? flags.text("--models-dir") : "";
  const std::vector<StoredModel> models = list_models(extra);
  if (flags.on("--names")) {  // what completions ask for: nothing is opened
    for (const StoredModel& model : models) std::cout << model.name << "\n";
    return 0;
  }
  base::Json rows = base::Json::array();
  for (const StoredModel& model : models) {
    std::string family;
    try {
      family = models::load_family_config(model.folder)->info.description;
    } catch (const base::Error& error) {
      family = std::string("not usable: ") + error.what();
    }
    rows.push_back({{"name", model.name}, {"folder", model.folder.string()}, {"family", family}});
  }
  if (flags.on("--json")) {
    std::cout << rows.dump(2, ' ', false, base::Json::error_handler_t::replace) << "\n";
    return 0;
  }
  for (const base::Json& row : rows) {
    std::cout << fmt::format("{:<32} {}\n{:<32} {}\n", row["name"].get<std::string>(),
                             row["family"].get<std::string>(), "",
                             row["folder"].get<std::string>());
  }
  if (rows.empty()) {
    std::cerr << "no checkpoints found in:\n";
    for (const auto& folder : model_folders(extra)) std::cerr << "  " << folder.string() << "\n";
  }
  return 0;
}

}  // namespace mlxcel::cli
