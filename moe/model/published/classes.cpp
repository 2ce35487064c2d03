#include "moe/model/published/classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "moe/model/model_figures.h"
#include "moe/model/model_key.h"

namespace moe {
namespace {

/// A class that no keys of a model describe, and what there would have to be.
struct OtherClass {
  std::string_view name, needed;
};
constexpr std::array kOtherClasses{
    OtherClass{"phimoe", "sparsemixer, which chooses and weighs one expert after the other"},
    OtherClass{"minimax", "residuals of normed rows and lightning attention"},
    OtherClass{"llama4", "its text_config as a file, and what llama4_text needs"},
    OtherClass{"llama4_text", "experts whose inputs are weighted, attention in chunks"},
    OtherClass{"dbrx", "norms without biases beside learned means, limits of queries and keys"},
    OtherClass{"jetmoe", "attention that is a mixture of experts"},
    OtherClass{"afmoe",
               "norms before and behind attention and networks, a gate of attention's output"},
    OtherClass{"axk1", "a norm behind the mixture of experts"},
    OtherClass{"axk2", "an indexer that chooses which tokens are seen"},
    OtherClass{"deepseek_v32", "an indexer that chooses which tokens are seen"},
    OtherClass{"glm_moe_dsa", "an indexer that chooses which tokens are seen"},
    OtherClass{"dots3_note", "an indexer that chooses which tokens are seen"},
    OtherClass{"deepseek_v4", "several residual streams, compressed keys and values"},
    OtherClass{"hy_v4", "several residual streams, an indexer that chooses which tokens are seen"},
    OtherClass{"beam", "a gate of attention's output, limits of logits"},
    OtherClass{"laguna", "a gate of attention's output"},
    OtherClass{"cohere2_moe", "attention and network beside each other"},
    OtherClass{"kolibri1", "norms before and behind attention and networks"},
    OtherClass{"longcat_flash", "two attentions in a block, experts without parameters"},
    OtherClass{"mimo_v2_flash", "key_value_heads by kind of block, a factor of values"},
    OtherClass{"qwen3_next", "gated linear attention"},
    OtherClass{"qwen3_5_moe_text", "gated linear attention"},
    OtherClass{"kimi_linear", "gated linear attention"},
    OtherClass{"bailing_hybrid", "gated linear attention"},
    OtherClass{"lara_mini", "gated linear attention"},
    OtherClass{"lfm2_moe", "short convolutions"},
    OtherClass{"nemotron_h", "state-space layers"},
    OtherClass{"granitemoehybrid", "state-space layers"},
    OtherClass{"zaya", "convolutions of queries and keys, a router of three layers"},
    OtherClass{"jamba", "state-space layers"}};

}  // namespace

std::span<const PublishedClass> published_classes() {
  static const std::array all{classes::mixtral(),        classes::qwen2_moe(),
                              classes::qwen3_moe(),      classes::glm4_moe(),
                              classes::deepseek_v2(),    classes::deepseek_v3(),
                              classes::kimi_k2(),        classes::dots1(),
                              classes::gpt_oss(),        classes::olmoe(),
                              classes::minimax_m2(),     classes::ernie4_5_moe(),
                              classes::glm4_moe_lite(),  classes::sarvam_mla(),
                              classes::solar_open(),     classes::sarvam_moe(),
                              classes::hy_v3(),          classes::aria_text(),
                              classes::granitemoe(),     classes::granitemoeshared(),
                              classes::granitemoe_swa(), classes::exaone_moe(),
                              classes::flint(),          classes::mellum(),
                              classes::flex_olmo(),      classes::hunyuan_v1_moe()};
  return all;
}

std::vector<std::string_view> names_of_classes() {
  std::vector<std::string_view> names;
  for (const PublishedClass& one : published_classes()) names.push_back(one.name);
  return names;
}

const PublishedClass& class_named(const InputValue& type) {
  for (const OtherClass& other : kOtherClasses) {
    if (!type.is(other.name)) continue;
    type.refuse(fmt::format("\"{}\" needs {}, for which there is no key: expected one of \"{}\"",
                            other.name, other.needed, fmt::join(names_of_classes(), "\", \"")));
  }
  return published_classes()[type.one_of(names_of_classes())];
}

std::int64_t published_parameters(const Model& model, const PublishedClass& of) {
  const std::int64_t learnt = figures_of(model).parameters;
  if (!of.counts_router_bias) return learnt;
  return learnt + std::int64_t{blocks_with_experts(model)} * model.experts;
}

std::optional<KeyValue> key_value(const Declared& declared) {
  if (const auto* text = std::get_if<std::string_view>(&declared)) return std::string(*text);
  if (const auto* flag = std::get_if<bool>(&declared)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&declared)) return *whole;
  if (const auto* number = std::get_if<double>(&declared)) return *number;
  return std::nullopt;
}

void set_declared(Model& model, std::string_view ours, const Declared& declared) {
  const std::optional<KeyValue> value = key_value(declared);
  if (!value) return;
  const ModelKey& key = key_named(model, ours);
  key.set(key, model, *value);
}

}  // namespace moe
