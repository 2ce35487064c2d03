#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "moe/model/attention_keys.h"
#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

double root_scale(const Model& model) {
  return 1 / std::sqrt(static_cast<double>(head_width(model)));
}

void read_attention_multiplier(const Config& config, const PublishedClass&, Model& model) {
  const auto given = config.given("attention_multiplier");
  const double scale = given ? given->number(1e-30, 1e30, "a number above 0") : 1;
  if (scale != root_scale(model)) set_declared(model, "attention_scale", scale);
}

void write_attention_multiplier(const Model& model, const PublishedClass&, Json& config) {
  const double scale = attention_scale(model);
  config["attention_multiplier"] = scale > 0 ? scale : root_scale(model);
}

constexpr auto kGraniteKeys = joined(
    common_sizes({.vocabulary = 32000, .width = 4096, .blocks = 32, .heads = 32}),
    std::array<ConfigKey, 7>{{{"intermediate_size", "d_hidden", 11008},
                              {"num_local_experts", "experts", 8},
                              {"num_experts_per_tok", "choices", 2},
                              {"embedding_multiplier", "embedding_factor", 1.0},
                              {"residual_multiplier", "residual_factor", 1.0},
                              {"logits_scaling", "logits_divisor", 1.0},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kGraniteFixed{FixedKey{"normalize_weights", true}};
constexpr std::array kGraniteExpected{
    ExpectedKey{"position_embedding_type", "rope", "attention without positions by this key"}};
const std::array kGraniteParts{ConfigPart{read_attention_multiplier, write_attention_multiplier}};

/// Shared experts together have a width of their own. Their tensors are not read.
constexpr const char* kGraniteSharedWidth = "shared_intermediate_size";

void read_shared_width(const Config& config, const PublishedClass&, Model& model) {
  parts::read_shared_width(config, kGraniteSharedWidth, 0, "intermediate_size", model);
}

void write_shared_width(const Model& model, const PublishedClass&, Json& config) {
  config[kGraniteSharedWidth] = model.shared_experts * expert_hidden(model);
}

const std::array kGraniteSharedParts{
    ConfigPart{read_attention_multiplier, write_attention_multiplier},
    ConfigPart{read_shared_width, write_shared_width}};

/// Granite of sliding windows: sinks, and a base of the angles of each block. Its tensors are not
/// read.
constexpr std::array kGraniteWindowFixed{FixedKey{"normalize_weights", true},
                                         FixedKey{"attention_sinks", true}};

std::string all_but_first_of_four(const Config&, std::int64_t blocks) {
  std::string pattern;
  for (std::int64_t block = 0; block < blocks; ++block) pattern += block % 4 == 0 ? 'f' : 's';
  return pattern;
}

constexpr const char* kBases = "layer_rope_theta";

/// A base for each block, of which those with the window have one and the others one; 0 where
/// nothing turns.
void read_bases(const Config& config, const PublishedClass&, Model& model) {
  const auto bases = config.given(kBases);
  if (!bases) return;
  std::vector<bool> turned;
  std::array<double, 2> base{};  // of blocks without and with the window
  for (const InputValue& value : bases->list("a list of numbers")) {
    const double one = value.number(0, 1e30, "a number of at least 1, or 0");
    double& known = base[attention_window(model, static_cast<int>(turned.size())) > 0 ? 1 : 0];
    if (one > 0 && known > 0 && one != known) {
      value.fail(fmt::format("{:g} or 0: the base of earlier blocks of this kind", known));
    }
    if (one > 0) known = one;
    turned.push_back(one > 0);
  }
  if (turned.size() != static_cast<std::size_t>(model.blocks)) {
    bases->refuse(fmt::format("lists {} layers: expected num_hidden_layers = {}", turned.size(),
                              model.blocks));
  }
  const auto [full, windowed] = base;
  if (full > 0 || windowed > 0) model.rotary_base = full > 0 ? full : windowed;
  if (windowed > 0 && windowed != model.rotary_base) {
    set_declared(model, "window_rotary_base", windowed);
  }
  parts::set_turned_blocks(model, turned);
}

void write_bases(const Model& model, const PublishedClass&, Json& config) {
  Json bases = Json::array();
  for (int block = 0; block < model.blocks; ++block) {
    bases.push_back(turns(model, block) ? rotary_base(model, block) : 0);
  }
  config[kBases] = bases;
}

const std::array kGraniteWindowParts{
    ConfigPart{read_attention_multiplier, write_attention_multiplier},
    ConfigPart{read_shared_width, write_shared_width}, ConfigPart{read_bases, write_bases}};

constexpr TensorNames kGraniteTensors{.mixture = "block_sparse_moe.",
                                      .router = "router.layer.",
                                      .experts = ExpertTensors::stacked,
                                      .output_bias = true};

}  // namespace

PublishedClass classes::granitemoe() {
  return {.name = "granitemoe",
          .architecture = "GraniteMoeForCausalLM",
          .keys = kGraniteKeys,
          .fixed = kGraniteFixed,
          .parts = kGraniteParts,
          .expected = kGraniteExpected,
          .positions = 2048,
          .tensors = &kGraniteTensors};
}

PublishedClass classes::granitemoeshared() {
  return {.name = "granitemoeshared",
          .architecture = "GraniteMoeSharedForCausalLM",
          .keys = kGraniteKeys,
          .fixed = kGraniteFixed,
          .parts = kGraniteSharedParts,
          .expected = kGraniteExpected,
          .positions = 2048};
}

PublishedClass classes::granitemoe_swa() {
  return {.name = "granitemoe_swa",
          .architecture = "GraniteMoeSWAForCausalLM",
          .keys = kGraniteKeys,
          .fixed = kGraniteWindowFixed,
          .parts = kGraniteWindowParts,
          .windows = Windows::listed,
          .window = 128,
          .pattern = all_but_first_of_four,
          .positions = 2048};
}

}  // namespace moe
