#pragma once

#include <array>

#include "moe/model/model_key.h"

namespace moe {

/// Keys and values are made from a row of few columns of each token, and the columns that turn are
/// the same for all heads  [multi-head latent attention, DeepSeek-V2, section 2.1].
struct LatentAttention {
  std::int64_t rank = 0;  ///< columns that keys and values are made from; 0: ordinary attention
  std::int64_t query_rank = 0;  ///< of queries; 0: they are made from tokens
  double norm_epsilon = 0;      ///< of the norms of both
};
LatentAttention latent_attention(const Model& model);
/// Columns of a head of values.
std::int64_t value_width(const Model& model);
/// Why these keys do not go together; "" where they do.
std::string latent_refusal(const Model& model);

/// The keys of [model] that say how wide values are, and that keys and values are compressed. Their
/// values live in Model::own.
namespace latent_keys {

std::string refuse_learned_positions(const Model& model, const KeyValue& value);
std::string refuse_all_turned(const Model& model, const KeyValue& value);
std::string refuse_without_latent(const Model& model, const KeyValue& value);

inline constexpr std::array kWithUnturnedColumns{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_learned_positions},
    KeyCondition{"rotary_columns", "fewer rotary_columns than head_width where above 0",
                 refuse_all_turned}};
inline constexpr std::array kWithLatent{
    KeyCondition{"latent_rank", "a latent_rank", refuse_without_latent}};

inline constexpr std::array kKeys{
    own_model_key(
        KeyKind::tensors, "value_width", IntegerRange{1, 1 << 24},
        [](const Model& model) -> KeyValue { return head_width(model); },
        "Columns of a head of values.", "head_width"),
    own_model_key(
        KeyKind::tensors, "latent_rank", IntegerRange{0, 1 << 24},
        [](const Model&) -> KeyValue { return std::int64_t{0}; },
        "Columns that keys and values are made from, with turned ones for all heads; 0: ordinary.",
        {}, kWithUnturnedColumns),
    own_model_key(
        KeyKind::tensors, "latent_query_rank", IntegerRange{0, 1 << 24},
        [](const Model&) -> KeyValue { return std::int64_t{0}; },
        "Columns that queries are made from; 0: the token's.", {}, kWithLatent),
    own_model_key(
        KeyKind::function, "latent_norm_epsilon", kAboveZero,
        [](const Model& model) -> KeyValue { return model.norm_epsilon; },
        "Added to the mean square in the norms of these columns.", "norm_epsilon", kWithLatent),
};

}  // namespace latent_keys
}  // namespace moe
