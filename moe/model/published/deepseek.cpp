#include <nlohmann/json.hpp>

#include "moe/model/published/adjusted_sizes.h"
#include "moe/model/published/classes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

/// Without heads of keys and values: parts::latent_attention has these.
constexpr auto latent_sizes(const CommonSizes& sizes) {
  return joined(widths_and_blocks(sizes), norms_and_head(sizes));
}

constexpr auto kV3Keys =
    joined(latent_sizes({.vocabulary = 129280, .width = 7168, .blocks = 61, .heads = 128}),
           adjusted_sizes({.dense_width = 18432,
                           .expert_width = 2048,
                           .dense_blocks = 3,
                           .experts = 256,
                           .choices = 8,
                           .shared = 1,
                           .normalize_weights = true,
                           .factor = 2.5,
                           .groups = 8,
                           .best_groups = 4}));
const std::array kV3Parts{parts::latent_attention, parts::best_of_groups};

/// transformers has no norm_topk_prob of this class: it never divides weights by their sum.
constexpr auto kV2Keys =
    joined(latent_sizes({.vocabulary = 102400, .width = 4096, .blocks = 32, .heads = 32}),
           std::array<ConfigKey, 7>{{{"intermediate_size", "d_hidden", 11008},
                                     {"moe_intermediate_size", "d_expert", 1407},
                                     {"n_routed_experts", "experts", 64, {}, "num_experts"},
                                     {"num_experts_per_tok", "choices"},
                                     {"n_shared_experts", "shared_experts", 2},
                                     {"first_k_dense_replace", "dense_blocks", 0},
                                     {"routed_scaling_factor", "weight_factor", 1.0}}});
constexpr std::array kV2Fixed{FixedKey{"normalize_weights", false}};
constexpr std::array kV2Expected{
    ExpectedKey{"scoring_func", "softmax", "another score of experts"},
    ExpectedKey{"mlp_bias", false, "networks of this kind with biases"},
    ExpectedKey{"norm_topk_prob", false, "what transformers computes then: it divides nothing"},
    ExpectedKey{"moe_layer_freq", 1, "dense blocks among the others"}};

constexpr std::string_view kGreedy = "greedy", kLimited = "group_limited_greedy";

void read_choice(const Config& config, const PublishedClass&, Model& model) {
  const auto groups = config.given("n_group"), best = config.given("topk_group");
  const auto method = config.given("topk_method");
  if (!method || method->one_of({kGreedy, kLimited}) == 0) return;  // whatever groups there are
  if (groups) set_declared(model, "expert_groups", groups->integer(1));
  if (best) set_declared(model, "best_groups", best->integer(1));
}

void write_choice(const Model& model, const PublishedClass&, Json& config) {
  config["n_group"] = model.expert_groups;
  config["topk_group"] = best_groups(model);
  config["topk_method"] = model.expert_groups == 1 ? kGreedy : kLimited;
  config["norm_topk_prob"] = false;
}

const std::array kV2Parts{parts::latent_attention, ConfigPart{read_choice, write_choice}};

/// GLM-4.7-Flash: the same, with the kind of each block.
constexpr auto kLiteKeys = joined(
    latent_sizes(
        {.vocabulary = 154880, .width = 2048, .blocks = 47, .heads = 20, .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 9>{{{"intermediate_size", "d_hidden", 10240},
                              {"moe_intermediate_size", "d_expert", 1536},
                              {"n_routed_experts", "experts", 64, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 4},
                              {"n_shared_experts", "shared_experts", 1},
                              {"norm_topk_prob", "normalize_weights", true},
                              {"routed_scaling_factor", "weight_factor", 1.8},
                              {"n_group", "expert_groups", 1},
                              {"topk_group", "best_groups", 1}}});
const std::array kLiteParts{parts::latent_attention, parts::best_of_groups, parts::kinds_of_blocks};

constexpr auto kSarvamKeys =
    joined(latent_sizes({.vocabulary = 262144, .width = 4096, .blocks = 32, .heads = 64}),
           adjusted_sizes({.dense_width = 16384,
                           .expert_width = 2048,
                           .dense_blocks = 1,
                           .experts = 128,
                           .choices = 8,
                           .shared = 1,
                           .normalize_weights = true,
                           .factor = 2.5}));

constexpr TensorNames kV2Tensors{.shared = "shared_experts.", .output_bias = true};
constexpr TensorNames kV3Tensors{.shared = "shared_experts.",
                                 .router_bias = "gate.e_score_correction_bias",
                                 .output_bias = true};

}  // namespace

PublishedClass classes::deepseek_v3() {
  return {.name = "deepseek_v3",
          .architecture = "DeepseekV3ForCausalLM",
          .keys = kV3Keys,
          .fixed = kAdjustedFixed,
          .parts = kV3Parts,
          .expected = kAdjustedExpected,
          .says_interleave = true,
          .positions = 4096,
          .tensors = &kV3Tensors};
}

/// The files of Kimi-K2 say another type, and mean this class.
PublishedClass classes::kimi_k2() {
  PublishedClass of = deepseek_v3();
  of.name = "kimi_k2";
  of.written_type = "deepseek_v3";
  return of;
}

PublishedClass classes::glm4_moe_lite() {
  return {.name = "glm4_moe_lite",
          .architecture = "Glm4MoeLiteForCausalLM",
          .keys = kLiteKeys,
          .fixed = kAdjustedFixed,
          .parts = kLiteParts,
          .expected = kAdjustedExpected,
          .says_interleave = true,
          .latent = {.query_rank = 768, .unturned = 192, .value = 256},
          .dense_blocks = 1,
          .positions = 202752,
          .tensors = &kV3Tensors};
}

PublishedClass classes::sarvam_mla() {
  return {.name = "sarvam_mla",
          .architecture = "DeepseekV3ForCausalLM",
          .keys = kSarvamKeys,
          .fixed = kAdjustedFixed,
          .parts = kV3Parts,
          .expected = kAdjustedExpected,
          .says_interleave = true,
          .latent = {.query_rank = 0},
          .positions = 4096,
          .tensors = &kV3Tensors};
}

PublishedClass classes::deepseek_v2() {
  return {.name = "deepseek_v2",
          .architecture = "DeepseekV2ForCausalLM",
          .keys = kV2Keys,
          .fixed = kV2Fixed,
          .parts = kV2Parts,
          .expected = kV2Expected,
          .positions = 2048,
          .tensors = &kV2Tensors};
}

}  // namespace moe
