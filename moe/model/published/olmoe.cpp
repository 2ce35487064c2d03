#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

constexpr auto kOlmoeKeys = joined(
    common_sizes(
        {.vocabulary = 50304, .width = 2048, .blocks = 16, .heads = 16, .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 5>{{{"intermediate_size", "d_hidden", 2048},
                              {"num_experts", "experts", 64, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 8},
                              {"norm_topk_prob", "normalize_weights", false},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kOlmoeFixed{FixedKey{"query_key_norm", "all"}};
constexpr std::array kOlmoeExpected{
    ExpectedKey{"clip_qkv", {}, "limits of queries, keys and values"}};
constexpr TensorNames kOlmoeTensors{.output_bias = true};

/// FlexOlmo: norms behind attention and networks.
constexpr auto kFlexKeys = joined(
    common_sizes({.vocabulary = 100352, .width = 4096, .blocks = 32, .heads = 32}),
    std::array<ConfigKey, 5>{{{"intermediate_size", "d_hidden", 11008},
                              {"num_experts", "experts", 7, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 5},
                              {"norm_topk_prob", "normalize_weights", false},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kFlexFixed{FixedKey{"query_key_norm", "all"},
                                FixedKey{"norm_place", "behind"}};
constexpr TensorNames kFlexTensors{.norms{"post_attention_layernorm", "post_feedforward_layernorm"},
                                   .output_bias = true};

}  // namespace

PublishedClass classes::flex_olmo() {
  return {.name = "flex_olmo",
          .architecture = "FlexOlmoForCausalLM",
          .keys = kFlexKeys,
          .fixed = kFlexFixed,
          .rotary_base = 500000,
          .positions = 4096,
          .tensors = &kFlexTensors};
}

PublishedClass classes::olmoe() {
  return {.name = "olmoe",
          .architecture = "OlmoeForCausalLM",
          .keys = kOlmoeKeys,
          .fixed = kOlmoeFixed,
          .expected = kOlmoeExpected,
          .positions = 4096,
          .tensors = &kOlmoeTensors};
}

}  // namespace moe
