#include <algorithm>

#include "moe/model/published/adjusted_sizes.h"
#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

/// The mixture of experts of DeepSeek-V3, with attention by heads.
constexpr std::array kDotsFixed{FixedKey{"gate", "bias_adjusted"},
                                FixedKey{"query_key_norm", "head"}};
const std::array kAdjustedParts{parts::best_of_groups};
constexpr TensorNames kAdjustedTensors{.shared = "shared_experts.",
                                       .router_bias = "gate.e_score_correction_bias"};
constexpr TensorNames kDotsTensors{.shared = "shared_experts.",
                                   .router_bias = "gate.e_score_correction_bias",
                                   .output_bias = true};

constexpr auto kGlmKeys =
    joined(common_sizes({.vocabulary = 151552,
                         .width = 4096,
                         .blocks = 46,
                         .heads = 96,
                         .key_value_heads = 8,
                         .norm_epsilon = 1e-5}),
           adjusted_sizes({.dense_width = 10944,
                           .expert_width = 1408,
                           .dense_blocks = 1,
                           .experts = 128,
                           .choices = 8,
                           .shared = 1,
                           .normalize_weights = true}),
           std::array<ConfigKey, 2>{{{"attention_bias", "attention_biases", false, {"none", "qkv"}},
                                     {"use_qk_norm", "query_key_norm", false, {"none", "head"}}}});

std::string last_ones(const Config& config, std::int64_t blocks) {
  const std::int64_t full = std::min(config.integer("max_window_layers", blocks), blocks);
  return std::string(static_cast<std::size_t>(full), 'f') +
         std::string(static_cast<std::size_t>(blocks - full), 's');
}

constexpr auto kDotsKeys = joined(
    common_sizes(
        {.vocabulary = 152064, .width = 4608, .blocks = 62, .heads = 32, .key_value_heads = 32}),
    adjusted_sizes({.dense_width = 10944,
                    .expert_width = 1408,
                    .dense_blocks = 0,
                    .normalize_weights = false}),
    std::array<ConfigKey, 1>{{{"attention_bias", "attention_biases", false, {"none", "all"}}}});

/// Solar-Open: no block is dense.
constexpr auto kSolarKeys = joined(
    common_sizes({.vocabulary = 196608,
                  .width = 4096,
                  .blocks = 48,
                  .heads = 64,
                  .key_value_heads = 8,
                  .head_width = 128,
                  .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 9>{{{"moe_intermediate_size", "d_expert", 1280},
                              {"n_routed_experts", "experts", 128, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 8},
                              {"n_shared_experts", "shared_experts", 1},
                              {"norm_topk_prob", "normalize_weights", true},
                              {"routed_scaling_factor", "weight_factor", 1.0},
                              {"n_group", "expert_groups", 1},
                              {"topk_group", "best_groups", 1},
                              {"attention_bias", "attention_biases", false, {"none", "qkv"}}}});

/// Sarvam-30B: GLM-4-MoE with other values.
constexpr auto kSarvamMoeKeys =
    joined(common_sizes({.vocabulary = 262144,
                         .width = 4096,
                         .blocks = 19,
                         .heads = 64,
                         .key_value_heads = 4,
                         .head_width = 64}),
           adjusted_sizes({.dense_width = 8192,
                           .expert_width = 1024,
                           .dense_blocks = 1,
                           .experts = 128,
                           .choices = 6,
                           .shared = 1,
                           .factor = 2.5}),
           std::array<ConfigKey, 2>{{{"attention_bias", "attention_biases", false, {"none", "qkv"}},
                                     {"use_qk_norm", "query_key_norm", true, {"none", "head"}}}});

/// Hy3: that router without groups, by names of its own.
constexpr auto kHyKeys = joined(
    common_sizes({.vocabulary = 120832,
                  .width = 4096,
                  .blocks = 80,
                  .heads = 64,
                  .key_value_heads = 8,
                  .head_width = 128,
                  .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 7>{{{"intermediate_size", "d_hidden", 13312},
                              {"moe_intermediate_size", "d_expert", 1536},
                              {"num_experts", "experts", 192, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 8},
                              {"num_shared_experts", "shared_experts", 1},
                              {"router_scaling_factor", "weight_factor", 2.826},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kHyFixed{FixedKey{"gate", "bias_adjusted"},
                              FixedKey{"normalize_weights", true},
                              FixedKey{"query_key_norm", "head"}};
constexpr std::array kHyExpected{
    ExpectedKey{"enable_moe_fp32_combine", true, "sums of experts in the parameters' precision"}};
const std::array kHyParts{parts::kinds_of_blocks};
constexpr TensorNames kHyTensors{.router = "router.gate.",
                                 .shared = "shared_mlp.",
                                 .router_bias = "expert_bias",
                                 .output_bias = true};

}  // namespace

PublishedClass classes::sarvam_moe() {
  return {.name = "sarvam_moe",
          .architecture = "Glm4MoeForCausalLM",
          .keys = kSarvamMoeKeys,
          .fixed = kAdjustedFixed,
          .parts = kAdjustedParts,
          .expected = kAdjustedExpected,
          .rotary_base = 8e6,
          .turns_part = true,
          .positions = 131072,
          .tensors = &kAdjustedTensors};
}

PublishedClass classes::hy_v3() {
  return {.name = "hy_v3",
          .architecture = "HYV3ForCausalLM",
          .keys = kHyKeys,
          .fixed = kHyFixed,
          .parts = kHyParts,
          .expected = kHyExpected,
          .rotary_base = 11158840,
          .dense_blocks = 1,
          .positions = 131072,
          .tensors = &kHyTensors};
}

PublishedClass classes::solar_open() {
  return {.name = "solar_open",
          .architecture = "SolarOpenForCausalLM",
          .keys = kSolarKeys,
          .fixed = kAdjustedFixed,
          .parts = kAdjustedParts,
          .expected = kAdjustedExpected,
          .rotary_base = 1e6,
          .positions = 131072,
          .tensors = &kAdjustedTensors};
}

PublishedClass classes::glm4_moe() {
  return {.name = "glm4_moe",
          .architecture = "Glm4MoeForCausalLM",
          .keys = kGlmKeys,
          .fixed = kAdjustedFixed,
          .parts = kAdjustedParts,
          .expected = kAdjustedExpected,
          .turned_share = 0.5,
          .turns_part = true,
          .positions = 131072,
          .tensors = &kAdjustedTensors};
}

PublishedClass classes::dots1() {
  return {.name = "dots1",
          .architecture = "Dots1ForCausalLM",
          .keys = kDotsKeys,
          .fixed = kDotsFixed,
          .parts = kAdjustedParts,
          .expected = kAdjustedExpected,
          .windows = Windows::listed,
          .window = 4096,
          .pattern = last_ones,
          .positions = 2048,
          .tensors = &kDotsTensors};
}

}  // namespace moe
