#include "moe/model/latent_keys.h"

#include <fmt/format.h>

#include <string>

#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

const ModelKey& latent_key(std::string_view name) { return key_named(latent_keys::kKeys, name); }

}  // namespace

namespace latent_keys {

std::string refuse_learned_positions(const Model& model, const KeyValue& value) {
  if (std::get<std::int64_t>(value) == 0 || model.positions == Positions::rotary) return "";
  return "heads share the columns of keys that turn: expected 0, or positions = \"rotary\"";
}

std::string refuse_all_turned(const Model& model, const KeyValue& value) {
  const std::int64_t rank = std::get<std::int64_t>(value), turned = rotary_angles(model).columns;
  if (rank == 0 || model.positions != Positions::rotary || turned < head_width(model)) return "";
  return fmt::format(
      "expected fewer rotary_columns than head_width = {}, or 0, got {} rotary_columns: nothing "
      "of a key would be made from the latent",
      head_width(model), turned);
}

std::string refuse_without_latent(const Model& model, const KeyValue&) {
  if (latent_attention(model).rank > 0) return "";
  return "there is no latent_rank: expected one above 0 beside it, or no such key";
}

}  // namespace latent_keys

LatentAttention latent_attention(const Model& model) {
  return {own_integer(latent_key("latent_rank"), model),
          own_integer(latent_key("latent_query_rank"), model),
          own_number(latent_key("latent_norm_epsilon"), model)};
}

std::int64_t value_width(const Model& model) {
  return own_integer(latent_key("value_width"), model);
}

std::string latent_refusal(const Model& model) {
  const ModelKey& key = latent_key("latent_rank");
  for (const KeyCondition& condition : key.conditions) {
    const std::string refusal = condition.refusal(model, own_value(key, model));
    if (!refusal.empty()) return fmt::format("latent_rank: {}", refusal);
  }
  return "";
}

}  // namespace moe
