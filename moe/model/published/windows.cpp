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

bool lists_window(std::string_view pattern) { return pattern.find('s') != std::string_view::npos; }

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

/// A list of the layers' kinds that says otherwise than `sliding_window`, which decides.
void expect_alike(const Config& config, std::string_view pattern, char kind) {
  const auto other = std::ranges::find_if(pattern, [&](char one) { return one != kind; });
  if (other == pattern.end()) return;
  const auto types = config.given("layer_types")->list("a list of texts");
  types[static_cast<std::size_t>(other - pattern.begin())].fail(
      kind == 'f' ? fmt::format("\"{}\": no window is in use here", kFull)
                  : fmt::format("\"{}\": the window is of all layers here", kSliding));
}

void read_windows(const Config& config, const PublishedClass& of, Model& model) {
  std::string pattern = listed_pattern(config, model);
  if (of.windows == Windows::none) {
    if (lists_window(pattern)) {
      config.root().refuse("layer_types",
                           fmt::format("expected \"{}\" alone: {} has no windows", kFull, of.name));
    }
    return;
  }
  const bool is_used = !has_switch(of.windows) || config.flag("use_sliding_window", false),
             is_none = config.is_null(kWindow);
  const std::int64_t given = config.integer(kWindow, is_none ? 0 : of.window),
                     tokens = is_used ? given : 0;
  const bool may_have_it = !is_listed(of.windows) || pattern.empty() || lists_window(pattern);
  if (is_used && !is_none && given == 0 && may_have_it) {
    if (const auto none = config.given(kWindow)) none->fail("null, or an integer of at least 1");
  }
  if (!is_listed(of.windows)) {
    expect_alike(config, pattern, tokens > 0 ? 's' : 'f');
    pattern = "s";
  } else if (tokens == 0) {
    expect_alike(config, pattern, 'f');
  } else if (pattern.empty()) {
    pattern = pattern_of_class(config, of, model);
  }
  if (tokens == 0 || !lists_window(pattern)) return;
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
