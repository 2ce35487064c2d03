#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

/// The mixture of experts of DeepSeek-V3, with attention by heads.
constexpr std::array kAdjustedFixed{FixedKey{"gate", "bias_adjusted"}};
constexpr std::array kDotsFixed{FixedKey{"gate", "bias_adjusted"},
                                FixedKey{"query_key_norm", "head"}};
constexpr std::array kAdjustedExpected{
    ExpectedKey{"scoring_func", "sigmoid", "another score of experts"},
    ExpectedKey{"topk_method", "noaux_tc", "another choice of experts"},
    ExpectedKey{"moe_layer_freq", 1, "dense blocks among the others"}};
const std::array kAdjustedParts{parts::best_of_groups};
constexpr TensorNames kAdjustedTensors{.shared = "shared_experts.",
                                       .router_bias = "gate.e_score_correction_bias"};
constexpr TensorNames kDotsTensors{.shared = "shared_experts.",
                                   .router_bias = "gate.e_score_correction_bias",
                                   .output_bias = true};

struct AdjustedSizes {
  std::int64_t dense_width, expert_width, experts, choices, shared, dense_blocks;
  bool normalize_weights;
};

constexpr std::array<ConfigKey, 10> adjusted_sizes(const AdjustedSizes& sizes) {
  return {{{"intermediate_size", "d_hidden", sizes.dense_width},
           {"moe_intermediate_size", "d_expert", sizes.expert_width},
           {"n_routed_experts", "experts", sizes.experts, {}, "num_local_experts"},
           {"num_experts_per_tok", "choices", sizes.choices},
           {"n_shared_experts", "shared_experts", sizes.shared},
           {"first_k_dense_replace", "dense_blocks", sizes.dense_blocks},
           {"norm_topk_prob", "normalize_weights", sizes.normalize_weights},
           {"routed_scaling_factor", "weight_factor", 1.0},
           {"n_group", "expert_groups", 1},
           {"topk_group", "best_groups", 1}}};
}

constexpr auto kGlmKeys =
    joined(joined(common_sizes({.vocabulary = 151552,
                                .width = 4096,
                                .blocks = 46,
                                .heads = 96,
                                .key_value_heads = 8,
                                .norm_epsilon = 1e-5}),
                  adjusted_sizes({.dense_width = 10944,
                                  .expert_width = 1408,
                                  .experts = 128,
                                  .choices = 8,
                                  .shared = 1,
                                  .dense_blocks = 1,
                                  .normalize_weights = true})),
           std::array<ConfigKey, 2>{{{"attention_bias", "attention_biases", false, {"none", "qkv"}},
                                     {"use_qk_norm", "query_key_norm", false, {"none", "head"}}}});

constexpr auto kDotsKeys = joined(
    joined(common_sizes({.vocabulary = 152064,
                         .width = 4608,
                         .blocks = 62,
                         .heads = 32,
                         .key_value_heads = 32}),
           adjusted_sizes({.dense_width = 10944,
                           .expert_width = 1408,
                           .experts = 0,
                           .choices = 0,
                           .shared = 0,
                           .dense_blocks = 0,
                           .normalize_weights = false})),
    std::array<ConfigKey, 1>{{{"attention_bias", "attention_biases", false, {"none", "all"}}}});

}  // namespace

PublishedClass classes::glm4_moe() {
  return {.name = "glm4_moe",
          .architecture = "Glm4MoeForCausalLM",
          .keys = kGlmKeys,
          .fixed = kAdjustedFixed,
          .parts = kAdjustedParts,
          .expected = kAdjustedExpected,
          .turned_share = 0.5,
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
          .positions = 2048,
          .tensors = &kDotsTensors};
}

}  // namespace moe
