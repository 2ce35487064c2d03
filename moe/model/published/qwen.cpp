#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

constexpr auto kQwen2Keys = joined(
    common_sizes(
        {.vocabulary = 151936, .width = 2048, .blocks = 24, .heads = 16, .key_value_heads = 16}),
    std::array<ConfigKey, 6>{{{"intermediate_size", "d_hidden", 5632},
                              {"moe_intermediate_size", "d_expert", 1408},
                              {"num_experts", "experts", 60, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 4},
                              {"norm_topk_prob", "normalize_weights", false},
                              {"qkv_bias", "attention_biases", true, {"none", "qkv"}}}});
const std::array kQwen2Parts{parts::listed_dense_blocks, parts::gated_shared_width};
constexpr TensorNames kQwen2Tensors{.shared = "shared_expert.",
                                    .shared_gate = "shared_expert_gate.weight"};

constexpr auto kQwen3Keys = joined(
    common_sizes(
        {.vocabulary = 151936, .width = 2048, .blocks = 24, .heads = 32, .key_value_heads = 4}),
    std::array<ConfigKey, 6>{{{"intermediate_size", "d_hidden", 6144},
                              {"moe_intermediate_size", "d_expert", 768},
                              {"num_experts", "experts", 128, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 8},
                              {"norm_topk_prob", "normalize_weights", false},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kQwen3Fixed{FixedKey{"query_key_norm", "head"}};
const std::array kQwen3Parts{parts::listed_dense_blocks};
constexpr TensorNames kQwen3Tensors{.output_bias = true};

/// Mellum: Qwen3's, with windows and angles by kind of block.
constexpr auto kMellumKeys = joined(
    common_sizes({.vocabulary = 98304,
                  .width = 2304,
                  .blocks = 28,
                  .heads = 32,
                  .key_value_heads = 4,
                  .head_width = 128}),
    std::array<ConfigKey, 6>{{{"intermediate_size", "d_hidden", 7168},
                              {"moe_intermediate_size", "d_expert", 896},
                              {"num_local_experts", "experts", 64, {}, "num_experts"},
                              {"num_experts_per_tok", "choices", 8},
                              {"norm_topk_prob", "normalize_weights", true},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
const std::array kMellumParts{parts::kinds_of_blocks, parts::angles_by_kind};

std::string no_windows(const Config&, std::int64_t blocks) {
  return std::string(static_cast<std::size_t>(blocks), 'f');
}

}  // namespace

PublishedClass classes::qwen2_moe() {
  return {.name = "qwen2_moe",
          .architecture = "Qwen2MoeForCausalLM",
          .keys = kQwen2Keys,
          .parts = kQwen2Parts,
          .windows = Windows::listed_if_used,
          .window = 4096,
          .positions = 32768,
          .tensors = &kQwen2Tensors};
}

PublishedClass classes::qwen3_moe() {
  return {.name = "qwen3_moe",
          .architecture = "Qwen3MoeForCausalLM",
          .keys = kQwen3Keys,
          .fixed = kQwen3Fixed,
          .parts = kQwen3Parts,
          .windows = Windows::all_if_used,
          .window = 4096,
          .positions = 32768,
          .tensors = &kQwen3Tensors};
}

PublishedClass classes::mellum() {
  return {.name = "mellum",
          .architecture = "MellumForCausalLM",
          .keys = kMellumKeys,
          .fixed = kQwen3Fixed,
          .parts = kMellumParts,
          .rotary_base = 500000,
          .windows = Windows::listed,
          .window = 1024,
          .pattern = no_windows,
          .angles_by_kind = true,
          .positions = 131072,
          .tensors = &kQwen3Tensors};
}

}  // namespace moe
