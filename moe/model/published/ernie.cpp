#include <nlohmann/json.hpp>

#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

constexpr auto kErnieKeys =
    joined(common_sizes({.vocabulary = 103424,
                         .width = 2560,
                         .blocks = 28,
                         .heads = 20,
                         .key_value_heads = 4,
                         .norm_epsilon = 1e-5,
                         .tied_head = true}),
           std::array<ConfigKey, 5>{{{"intermediate_size", "d_hidden", 12288},
                                     {"moe_intermediate_size", "d_expert", 1536},
                                     {"moe_num_experts", "experts", 64, {}, "num_experts"},
                                     {"moe_k", "choices", 6, {}, "num_experts_per_tok"},
                                     {"moe_num_shared_experts", "shared_experts", 2}}});
constexpr std::array kErnieFixed{FixedKey{"gate", "bias_adjusted"},
                                 FixedKey{"adjusted_scores", "softmax"},
                                 FixedKey{"normalize_weights", true}};
constexpr std::array kErnieExpected{
    ExpectedKey{"use_rmsnorm", true, "norms with means"},
    ExpectedKey{"compression_ratio", 1.0, "positions that are nearer to each other"},
    ExpectedKey{"use_bias", false, "networks of this kind with biases"},
    ExpectedKey{"moe_use_aux_free", true, "a router without a bias"},
    ExpectedKey{"moe_gate", "topk", "another router"},
    ExpectedKey{"moe_gate_act", "softmax", "another score of experts"},
    ExpectedKey{"moe_norm_gate_logits", true, "weights that are not divided by their sum"},
    ExpectedKey{"moe_use_hidden", false, "routers of other rows"}};

constexpr const char *kStart = "moe_layer_start_index", *kEnd = "moe_layer_end_index",
                     *kInterval = "moe_layer_interval";

/// The blocks with experts: from a first to a last one, every n-th of all.
void read_blocks(const Config& config, const PublishedClass&, Model& model) {
  const std::int64_t first = config.integer(kStart, 1), every = config.integer(kInterval, 1, 1),
                     given = config.integer(kEnd, -1, -1),
                     last = given == -1 ? model.blocks - 1 : given;
  std::vector<bool> dense(static_cast<std::size_t>(model.blocks));
  for (std::int64_t i = 0; i < model.blocks; ++i) {
    dense[static_cast<std::size_t>(i)] = (i + 1) % every != 0 || i < first || i > last;
  }
  parts::set_dense_blocks(model, dense);
  config.given("moe_capacity");  // of trainings elsewhere
  // The least sum that weights are divided by; probabilities of the best ones are larger.
  if (const auto least = config.given("moe_norm_min")) least->number(0, 1e-6, "at most 1e-06");
}

/// The first interval that says the same; without one what is written says another model, which is
/// refused.
void write_blocks(const Model& model, const PublishedClass&, Json& config) {
  int first = 0;
  while (first < model.blocks - 1 && !has_experts(model, first)) ++first;
  int last = model.blocks - 1;
  while (last > first && !has_experts(model, last)) --last;
  int every = 1;
  for (int next = first + 1; next <= last; ++next) {
    if (!has_experts(model, next)) continue;
    every = next - first;
    break;
  }
  config[kStart] = first;
  config[kEnd] = last;
  config[kInterval] = every;
}

const std::array kErnieParts{ConfigPart{read_blocks, write_blocks}};

constexpr TensorNames kErnieTensors{.shared = "shared_experts.",
                                    .router_bias = "moe_statics.e_score_correction_bias",
                                    .router_bias_is_row = true,
                                    .neighbours_turn = true};

}  // namespace

PublishedClass classes::ernie4_5_moe() {
  return {.name = "ernie4_5_moe",
          .architecture = "Ernie4_5_MoeForCausalLM",
          .keys = kErnieKeys,
          .fixed = kErnieFixed,
          .parts = kErnieParts,
          .expected = kErnieExpected,
          .rotary_base = 500000,
          .positions = 131072,
          .counts_router_bias = true,
          .tensors = &kErnieTensors};
}

}  // namespace moe
