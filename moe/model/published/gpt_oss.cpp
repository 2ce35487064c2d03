#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

constexpr auto kGptOssKeys = joined(
    common_sizes({.vocabulary = 201088,
                  .width = 2880,
                  .blocks = 36,
                  .heads = 64,
                  .key_value_heads = 8,
                  .head_width = 64,
                  .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 4>{{{"intermediate_size", "d_hidden", 2880},
                              {"num_local_experts", "experts", 128, {}, "num_experts"},
                              {"num_experts_per_tok", "choices", 4, {}, "experts_per_token"},
                              {"attention_bias", "attention_biases", true, {"none", "all"}}}});
constexpr std::array kGptOssFixed{FixedKey{"biases", true}, FixedKey{"expert", "gpt_oss"},
                                  FixedKey{"gate_bias", true}, FixedKey{"attention_sinks", true},
                                  FixedKey{"normalize_weights", true}};
constexpr std::array kGptOssExpected{
    ExpectedKey{"swiglu_alpha", 1.702, "another rate of the sigmoid in experts"},
    ExpectedKey{"swiglu_limit", 7.0, "another limit of what experts multiply"}};
std::string first_of_two(const Config&, std::int64_t blocks) {
  std::string pattern;
  for (std::int64_t block = 0; block < blocks; ++block) pattern += block % 2 == 0 ? 's' : 'f';
  return pattern;
}

constexpr TensorNames kGptOssTensors{
    .router = "router.", .experts = ExpertTensors::interleaved, .output_bias = true};

}  // namespace

PublishedClass classes::gpt_oss() {
  return {.name = "gpt_oss",
          .architecture = "GptOssForCausalLM",
          .keys = kGptOssKeys,
          .fixed = kGptOssFixed,
          .expected = kGptOssExpected,
          .rotary_base = 150000,
          .angles = R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                        "truncate": false, "original_max_position_embeddings": 4096})",
          .windows = Windows::listed,
          .window = 128,
          .pattern = first_of_two,
          .positions = 131072,
          .tensors = &kGptOssTensors};
}

}  // namespace moe
