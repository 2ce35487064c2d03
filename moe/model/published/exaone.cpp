#include <nlohmann/json.hpp>

#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"

/// Classes whose blocks turn queries and keys where they have the window, and nowhere else.
namespace moe {
namespace {

constexpr auto kExaoneKeys =
    joined(common_sizes({.vocabulary = 102400,
                         .width = 4096,
                         .blocks = 32,
                         .heads = 32,
                         .key_value_heads = 32,
                         .norm_epsilon = 1e-5}),
           std::array<ConfigKey, 10>{{{"intermediate_size", "d_hidden", 16384},
                                      {"moe_intermediate_size", "d_expert", 1024},
                                      {"num_experts", "experts", 64},
                                      {"num_experts_per_tok", "choices", 8},
                                      {"num_shared_experts", "shared_experts", 1},
                                      {"first_k_dense_replace", "dense_blocks", 1},
                                      {"norm_topk_prob", "normalize_weights", true},
                                      {"routed_scaling_factor", "weight_factor", 2.5},
                                      {"n_group", "expert_groups", 1},
                                      {"topk_group", "best_groups", 1}}});
constexpr std::array kExaoneFixed{FixedKey{"gate", "bias_adjusted"},
                                  FixedKey{"query_key_norm", "head"}};

constexpr const char* kPeriod = "sliding_window_pattern";

std::string all_but_last_of_period(const Config& config, std::int64_t blocks) {
  const std::int64_t period = config.integer(kPeriod, 4, 1);
  std::string pattern;
  for (std::int64_t block = 1; block <= blocks; ++block) {
    pattern += block % period == 0 ? 'f' : 's';
  }
  return pattern;
}

/// Without windows all blocks turn.
void read_exaone_blocks(const Config& config, const PublishedClass& of, Model& model) {
  config.given(kPeriod);
  if (!config.is_null("sliding_window")) parts::turn_blocks_with_window(model);
  if (config.given("mlp_layer_types")) parts::kinds_of_blocks.read(config, of, model);
}

void write_exaone_blocks(const Model& model, const PublishedClass& of, Json& config) {
  parts::kinds_of_blocks.write(model, of, config);
  // Nothing turns where a file has a window, and no block has it.
  Json& window = config["sliding_window"];
  if (window.is_null() && !turns(model, 0)) window = of.window;
}

const std::array kExaoneParts{ConfigPart{read_exaone_blocks, write_exaone_blocks},
                              parts::best_of_groups};
constexpr TensorNames kExaoneTensors{.shared = "shared_experts.",
                                     .router_bias = "e_score_correction_bias"};

/// Flint: sinks and a sigmoid gate, and nothing turns where there is no window.
constexpr auto kFlintKeys = joined(
    common_sizes({.vocabulary = 150144,
                  .width = 2048,
                  .blocks = 49,
                  .heads = 32,
                  .key_value_heads = 4,
                  .head_width = 128}),
    std::array<ConfigKey, 6>{{{"intermediate_size", "d_hidden", 6144},
                              {"moe_intermediate_size", "d_expert", 512},
                              {"num_experts", "experts", 256, {}, "num_local_experts"},
                              {"num_experts_per_tok", "choices", 6},
                              {"norm_topk_prob", "normalize_weights", true},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kFlintFixed{FixedKey{"gate", "sigmoid"}, FixedKey{"query_key_norm", "head"},
                                 FixedKey{"attention_sinks", true}};

std::string windows_of_flint(const Config&, std::int64_t blocks) {
  std::string pattern;
  for (std::int64_t block = 0; block < blocks; ++block) {
    pattern += block < 2 || block % 4 == 1 || block == blocks - 1 ? 'f' : 's';
  }
  return pattern;
}

constexpr const char* kFlintSharedWidth = "shared_expert_intermediate_size";

void read_flint(const Config& config, const PublishedClass&, Model& model) {
  parts::read_shared_width(config, kFlintSharedWidth, 1024, "moe_intermediate_size", model);
  parts::turn_blocks_with_window(model);
}

void write_flint(const Model& model, const PublishedClass&, Json& config) {
  config[kFlintSharedWidth] = model.shared_experts * expert_hidden(model);
}

const std::array kFlintParts{parts::listed_dense_blocks, ConfigPart{read_flint, write_flint}};
constexpr TensorNames kFlintTensors{
    .sinks = "softmax_offset", .shared = "shared_expert.", .output_bias = true};

}  // namespace

PublishedClass classes::exaone_moe() {
  return {.name = "exaone_moe",
          .architecture = "ExaoneMoeForCausalLM",
          .keys = kExaoneKeys,
          .fixed = kExaoneFixed,
          .parts = kExaoneParts,
          .windows = Windows::listed,
          .window = 4096,
          .pattern = all_but_last_of_period,
          .positions = 2048,
          .tensors = &kExaoneTensors};
}

PublishedClass classes::flint() {
  return {.name = "flint",
          .architecture = "FlintForCausalLM",
          .keys = kFlintKeys,
          .fixed = kFlintFixed,
          .parts = kFlintParts,
          .windows = Windows::listed,
          .window = 513,
          .pattern = windows_of_flint,
          .dense_blocks = 2,
          .positions = 262144,
          .tensors = &kFlintTensors};
}

}  // namespace moe
