#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "moe/model/attention_keys.h"
#include "moe/model/published/parts.h"
#include "moe/model/published/repeated_part.h"

namespace moe {
namespace {

constexpr const char* kWindow = "sliding_window";
constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";

bool is_listed(Windows windows) {
  return windows == Windows::listed || windows == Windows::listed_if_used;
}
bool has_switch(Windows windows) {
  return windows == Windows::all_if_used || windows == Windows::listed_if_used;
}

/// A letter a block, as `layer_types` says it; "" where the file has no such key.
std::string listed_pattern(const Config& config, const Model& model) {
  const auto types = config.given("layer_types");
  if (!types) return "";
  std::string pattern;
  for (const InputValue& type : types->list("a list of texts")) {
    if (!type.is(kFull) && !type.is(kSliding)) {
      type.fail(fmt::format("\"{}\" or \"{}\"", kFull, kSliding));
    }
    pattern += type.is(kFull) ? 'f' : 's';
  }
  if (pattern.size() != static_cast<std::size_t>(model.blocks)) {
    types->refuse(fmt::format("lists {} layers: expected num_hidden_layers = {}", pattern.size(),
                              model.blocks));
  }
  return pattern;
}

/// The class's own where the file lists no layers.
std::string pattern_of_class(const Config& config, const PublishedClass& of, const Model& model) {
  if (of.windows == Windows::listed) return of.pattern(config, model.blocks);
  // Versions 4 and 5 choose other blocks.
  config.root().refuse("layer_types",
                       "is missing: with use_sliding_window = true expected the kind of each "
                       "layer");
}

void read_windows(const Config& config, const PublishedClass& of, Model& model) {
  std::string pattern = listed_pattern(config, model);
  if (of.windows == Windows::none) {
    if (pattern.find('s') != std::string::npos) {
      config.root().refuse("layer_types",
                           fmt::format("expected \"{}\" alone: {} has no windows", kFull, of.name));
    }
    return;
  }
  const std::int64_t missing = config.is_null(kWindow) ? 0 : of.window,
                     tokens = config.integer(kWindow, missing);
  const bool is_used = !has_switch(of.windows) || config.flag("use_sliding_window", false);
  if (!is_used || tokens == 0) return;
  if (!is_listed(of.windows)) {
    pattern = "s";
  } else if (pattern.empty()) {
    pattern = pattern_of_class(config, of, model);
  }
  if (pattern.find('s') == std::string::npos) return;
  set_declared(model, "window", tokens);
  set_declared(model, "window_pattern", std::string_view(repeated_part(pattern)));
}

void write_windows(const Model& model, const PublishedClass& of, Json& config) {
  if (of.windows == Windows::none) return;
  std::int64_t window = 0;
  Json types = Json::array();
  for (int block = 0; block < model.blocks; ++block) {
    const std::int64_t tokens = attention_window(model, block);
    types.push_back(tokens > 0 ? kSliding : kFull);
    window = std::max(window, tokens);
  }
  if (has_switch(of.windows)) config["use_sliding_window"] = window > 0;
  config[kWindow] = nullptr;
  if (window > 0) config[kWindow] = window;
  if (is_listed(of.windows)) config["layer_types"] = types;
}

}  // namespace

const ConfigPart parts::windows{read_windows, write_windows};

void parts::set_turned_blocks(Model& model, const std::vector<bool>& turned) {
  std::string pattern;
  for (const bool is_turned : turned) pattern += is_turned ? 't' : 'n';
  pattern = repeated_part(pattern);
  if (pattern != "t") set_declared(model, "rotary_pattern", std::string_view(pattern));
}

void parts::turn_blocks_with_window(Model& model) {
  std::vector<bool> turned;
  for (int block = 0; block < model.blocks; ++block) {
    turned.push_back(attention_window(model, block) > 0);
  }
  set_turned_blocks(model, turned);
}

}  // namespace moe
