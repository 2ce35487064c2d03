#include <fmt/format.h>

#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

constexpr auto kMixtralKeys =
    joined(common_sizes({.vocabulary = 32000,
                         .width = 4096,
                         .blocks = 32,
                         .heads = 32,
                         .key_value_heads = 8,
                         .norm_epsilon = 1e-5}),
           std::array<ConfigKey, 3>{{{"intermediate_size", "d_hidden", 14336},
                                     {"num_local_experts", "experts", 8, {}, "num_experts"},
                                     {"num_experts_per_tok", "choices", 2}}});
constexpr std::array kMixtralFixed{FixedKey{"normalize_weights", true}};
constexpr TensorNames kMixtralTensors{.mixture = "block_sparse_moe.",
                                      .network = {"w1", "w3", "w2"}};

/// MiniMax-M2: the router of DeepSeek-V3 and norms of all queries and of all keys.
constexpr auto kMinimaxM2Keys =
    joined(common_sizes({.vocabulary = 200064,
                         .width = 3072,
                         .blocks = 62,
                         .heads = 48,
                         .key_value_heads = 8,
                         .head_width = 128}),
           std::array<ConfigKey, 3>{{{"intermediate_size", "d_hidden", 1536},
                                     {"num_local_experts", "experts", 256, {}, "num_experts"},
                                     {"num_experts_per_tok", "choices", 8}}});
constexpr std::array kMinimaxM2Fixed{FixedKey{"gate", "bias_adjusted"},
                                     FixedKey{"normalize_weights", true},
                                     FixedKey{"query_key_norm", "all"}};
constexpr std::array kMinimaxM2Expected{
    ExpectedKey{"scoring_func", "sigmoid", "another score of experts"},
    ExpectedKey{"use_qk_norm", true, "queries and keys without norms"},
    ExpectedKey{"qk_norm_type", "per_layer", "another norm of queries and keys"},
    ExpectedKey{"shared_intermediate_size", 0, "shared experts"},
    ExpectedKey{"layernorm_full_attention_beta", 1.0, "a factor of what blocks add"},
    ExpectedKey{"layernorm_mlp_beta", 1.0, "a factor of what blocks add"},
    ExpectedKey{"use_routing_bias", true, "a router without a bias"}};
/// Another word for a part of each head that turns; and keys of other models of this kind.
void read_rotary_dim(const Config& config, const PublishedClass&, Model& model) {
  if (const auto kinds = config.given("attn_type_list")) {
    for (const InputValue& kind : kinds->list("a list of numbers")) {
      if (kind.integer(0) != 1) kind.fail("1: there is no key for lightning attention");
    }
  }
  for (const char* key :
       {"layernorm_linear_attention_beta", "mlp_intermediate_size", "shared_moe_mode",
        "num_mtp_modules", "mtp_transformer_layers", "use_mtp"}) {
    config.given(key);
  }
  const auto columns = config.given("rotary_dim");
  if (!columns) return;
  const std::int64_t turned = rotary_angles(model).columns;
  if (config.given("partial_rotary_factor") && columns->integer(1) != turned) {
    columns->fail(fmt::format("{}, as follows from partial_rotary_factor", turned));
  }
  set_declared(model, "rotary_columns", columns->integer(1));
}
const std::array kMinimaxM2Parts{ConfigPart{read_rotary_dim, parts::write_nothing}};

constexpr TensorNames kMinimaxM2Tensors{.mixture = "block_sparse_moe.",
                                        .network = {"w1", "w3", "w2"},
                                        .router_bias = "e_score_correction_bias"};

/// The text model of Aria: shared experts beside those of Mixtral. Its tensors are not read.
constexpr auto kAriaKeys = joined(
    common_sizes({.vocabulary = 32000, .width = 4096, .blocks = 32, .heads = 32}),
    std::array<ConfigKey, 5>{{{"intermediate_size", "d_hidden", 4096},
                              {"moe_num_experts", "experts", 8},
                              {"moe_topk", "choices", 2},
                              {"moe_num_shared_experts", "shared_experts", 2},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});

}  // namespace

PublishedClass classes::aria_text() {
  return {.name = "aria_text",
          .architecture = "AriaTextForCausalLM",
          .keys = kAriaKeys,
          .fixed = kMixtralFixed,
          .positions = 2048};
}

PublishedClass classes::mixtral() {
  return {.name = "mixtral",
          .architecture = "MixtralForCausalLM",
          .keys = kMixtralKeys,
          .fixed = kMixtralFixed,
          .rotary_base = 1e6,
          .windows = Windows::all,
          .positions = 131072,
          .tensors = &kMixtralTensors};
}

PublishedClass classes::minimax_m2() {
  return {.name = "minimax_m2",
          .architecture = "MiniMaxM2ForCausalLM",
          .keys = kMinimaxM2Keys,
          .fixed = kMinimaxM2Fixed,
          .parts = kMinimaxM2Parts,
          .expected = kMinimaxM2Expected,
          .rotary_base = 5e6,
          .turns_part = true,
          .positions = 196608,
          .tensors = &kMinimaxM2Tensors};
}

}  // namespace moe
