#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"
#include "moe/model/published/parts.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

/// In the norms of compressed rows, whatever the file says of others.
constexpr double kEpsilonOfLatent = 1e-6;

double root_of_width(const Model& model) {
  return std::sqrt(static_cast<double>(head_width(model)));
}

/// YaRN with `mscale_all_dim` multiplies scores by the square of its magnitude.
void read_scale(const Config& config, const PublishedClass& of, Model& model) {
  const auto rope = parts::rope_of(config, of);
  const RotaryAngles angles = rotary_angles(model);
  if (!rope || angles.scaling == AngleScaling::none) return;
  const auto weight = Config::given(*rope, "mscale_all_dim");
  if (!weight) return;
  const double magnitude =
      parts::yarn_magnitude(angles.factor, weight->number(0, 1e30, "a number of at least 0"));
  if (magnitude == 1) return;
  set_declared(model, "attention_scale", magnitude * magnitude / root_of_width(model));
}

void read_latent_attention(const Config& config, const PublishedClass& of, Model& model) {
  const LatentSizes& sizes = of.latent;
  const std::int64_t turned = config.integer("qk_rope_head_dim", sizes.turned, 1),
                     unturned = config.integer("qk_nope_head_dim", sizes.unturned, 1);
  if (const auto width = config.given("head_dim")) {
    const std::int64_t columns = width->integer(1);
    if (columns != turned && columns != turned + unturned) {
      width->fail(fmt::format("qk_rope_head_dim = {}", turned));
    }
  }
  if (const auto width = config.given("qk_head_dim")) {
    if (width->integer(1) != turned + unturned) {
      width->fail(fmt::format("qk_nope_head_dim + qk_rope_head_dim = {}", turned + unturned));
    }
  }
  if (const auto heads = config.given("num_key_value_heads")) {
    if (heads->integer(1) != model.heads) {
      heads->fail(fmt::format("num_attention_heads = {}", model.heads));
    }
  }
  if (config.flag("attention_bias", false)) set_declared(model, "attention_biases", "all");
  model.head_width = unturned + turned;
  set_declared(model, "rotary_columns", turned);
  set_declared(model, "value_width", config.integer("v_head_dim", sizes.value, 1));
  set_declared(model, "latent_rank", config.integer("kv_lora_rank", sizes.rank, 1));
  const std::int64_t missing = config.is_null("q_lora_rank") ? 0 : sizes.query_rank;
  set_declared(model, "latent_query_rank", config.integer("q_lora_rank", missing));
  set_declared(model, "latent_norm_epsilon", kEpsilonOfLatent);
  read_scale(config, of, model);
}

void write_latent_attention(const Model& model, const PublishedClass&, Json& config) {
  const LatentAttention latent = latent_attention(model);
  const RotaryAngles angles = rotary_angles(model);
  config.erase("partial_rotary_factor");
  config["num_key_value_heads"] = key_value_heads(model);
  config["attention_bias"] = attention_biases(model).qkv;
  config["qk_rope_head_dim"] = angles.columns;
  config["qk_nope_head_dim"] = head_width(model) - angles.columns;
  config["v_head_dim"] = value_width(model);
  config["kv_lora_rank"] = latent.rank;
  config["q_lora_rank"] = nullptr;
  if (latent.query_rank > 0) config["q_lora_rank"] = latent.query_rank;
  const double scale = attention_scale(model);
  if (scale == 0 || angles.factor <= 1) return;
  const double magnitude = std::sqrt(scale * root_of_width(model));
  config["rope_scaling"]["mscale_all_dim"] = (magnitude - 1) / (0.1 * std::log(angles.factor));
}

}  // namespace

const ConfigPart parts::latent_attention{read_latent_attention, write_latent_attention};

}  // namespace moe
