#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "moe/model/published/classes.h"
#include "moe/model/published/common_sizes.h"
#include "moe/model/published/tensor_names.h"

namespace moe {
namespace {

/// Queries and keys are turned before they are normed; one shared expert.
constexpr auto kHunyuanKeys = joined(
    common_sizes(
        {.vocabulary = 290943, .width = 4096, .blocks = 32, .heads = 32, .norm_epsilon = 1e-5}),
    std::array<ConfigKey, 2>{{{"intermediate_size", "d_hidden", 11008},
                              {"attention_bias", "attention_biases", false, {"none", "all"}}}});
constexpr std::array kHunyuanFixed{
    FixedKey{"query_key_norm", "head"}, FixedKey{"query_key_norm_turned", true},
    FixedKey{"shared_experts", 1}, FixedKey{"normalize_weights", true}};
constexpr std::array kHunyuanExpected{
    ExpectedKey{"use_qk_norm", true, "queries and keys without norms"}};

/// A number, or a list of one for each block, of which all are alike here.
std::int64_t number_of_all(const Config& config, std::string_view key, std::int64_t fallback) {
  const auto given = config.given(key);
  if (!given) return fallback;
  if (!given->is_list()) return given->integer(1);
  std::int64_t first = 0;
  for (const InputValue& value : given->list("a list of numbers")) {
    const std::int64_t one = value.integer(1);
    if (first == 0) first = one;
    if (one != first) value.fail(fmt::format("{}, as of the first block", first));
  }
  return first > 0 ? first : fallback;
}

std::int64_t number_by_names(const Config& config, std::string_view name, std::string_view alias) {
  const std::int64_t number = number_of_all(config, name, 0),
                     other = number_of_all(config, alias, number > 0 ? number : 1);
  if (number > 0 && other != number) {
    config.root().refuse(alias, fmt::format("expected {} = {}, got {}", name, number, other));
  }
  return other;
}

void read_experts(const Config& config, const PublishedClass&, Model& model) {
  set_declared(model, "experts", number_by_names(config, "num_experts", "num_local_experts"));
  set_declared(model, "choices", number_by_names(config, "moe_topk", "num_experts_per_tok"));
  // Keys of the makers, which transformers does not read.
  const std::int64_t shared = number_of_all(config, "num_shared_expert", 1),
                     width = number_of_all(config, "moe_intermediate_size", model.d_hidden);
  if (shared != 1) {
    config.root().refuse("num_shared_expert", fmt::format("expected 1, got {}", shared));
  }
  if (width != model.d_hidden) {
    config.root().refuse(
        "moe_intermediate_size",
        fmt::format("expected intermediate_size = {}, got {}", model.d_hidden, width));
  }
}

void write_experts(const Model& model, const PublishedClass&, Json& config) {
  config["num_experts"] = model.experts;
  config["moe_topk"] = model.choices;
}

const std::array kHunyuanParts{ConfigPart{read_experts, write_experts}};
constexpr TensorNames kHunyuanTensors{.query_key_norms{"query_layernorm", "key_layernorm"},
                                      .router = "gate.wg.",
                                      .shared = "shared_mlp.",
                                      .output_bias = true};

}  // namespace

PublishedClass classes::hunyuan_v1_moe() {
  return {.name = "hunyuan_v1_moe",
          .architecture = "HunYuanMoEV1ForCausalLM",
          .keys = kHunyuanKeys,
          .fixed = kHunyuanFixed,
          .parts = kHunyuanParts,
          .expected = kHunyuanExpected,
          .stretches_base = true,
          .positions = 2048,
          .tensors = &kHunyuanTensors};
}

}  // namespace moe
