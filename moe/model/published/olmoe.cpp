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

}  // namespace

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
