#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "moe/model/attention_keys.h"
#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

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
    std::array<ConfigKey, 4>{{{"intermediate_size", "d_hidden", 11008},
                              {"num_local_experts", "experts", 8},
                              {"num_experts_per_tok", "choices", 2},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kGraniteFixed{FixedKey{"normalize_weights", true}};
constexpr std::array kGraniteExpected{
    ExpectedKey{"embedding_multiplier", 1.0, "a factor of the token table's rows"},
    ExpectedKey{"residual_multiplier", 1.0, "a factor of what blocks add"},
    ExpectedKey{"logits_scaling", 1.0, "a divisor of logits"}};
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

}  // namespace moe
