#pragma once

#include "moe/model/published/common_sizes.h"

/// The mixture of experts of DeepSeek-V3, which other classes have too.
namespace moe {

inline constexpr std::array kAdjustedFixed{FixedKey{"gate", "bias_adjusted"}};
inline constexpr std::array kAdjustedExpected{
    ExpectedKey{"scoring_func", "sigmoid", "another score of experts"},
    ExpectedKey{"topk_method", "noaux_tc", "another choice of experts"},
    ExpectedKey{"moe_layer_freq", 1, "dense blocks among the others"}};

struct AdjustedSizes {
  std::int64_t dense_width, expert_width, dense_blocks;
  Declared experts{}, choices{}, shared{};
  bool normalize_weights = true;
  double factor = 1;
  std::int64_t groups = 1, best_groups = 1;
};

constexpr std::array<ConfigKey, 10> adjusted_sizes(const AdjustedSizes& sizes) {
  return {{{"intermediate_size", "d_hidden", sizes.dense_width},
           {"moe_intermediate_size", "d_expert", sizes.expert_width},
           {"n_routed_experts", "experts", sizes.experts, {}, "num_local_experts"},
           {"num_experts_per_tok", "choices", sizes.choices},
           {"n_shared_experts", "shared_experts", sizes.shared},
           {"first_k_dense_replace", "dense_blocks", sizes.dense_blocks},
           {"norm_topk_prob", "normalize_weights", sizes.normalize_weights},
           {"routed_scaling_factor", "weight_factor", sizes.factor},
           {"n_group", "expert_groups", sizes.groups},
           {"topk_group", "best_groups", sizes.best_groups}}};
}

}  // namespace moe
