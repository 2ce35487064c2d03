#pragma once

#include <array>

#include "moe/model/model_key.h"

namespace moe {

/// Factor of the rows that enter the first block.
double embedding_factor(const Model& model);
/// Factor of what attention and networks add to the residual stream.
double residual_factor(const Model& model);
/// Factor of logits: 1 / logits_divisor.
double logits_factor(const Model& model);
/// True where attention and networks read normed rows; false where what they compute is normed.
bool norms_before(const Model& model);

/// The keys of [model] that say what happens to rows between layers. Their values live in
/// Model::own.
namespace residual_keys {

inline constexpr std::string_view kBefore = "before", kBehind = "behind";
inline std::vector<std::string_view> names_of_places() { return {kBefore, kBehind}; }

inline constexpr std::array kKeys{
    own_model_key(
        KeyKind::tensors, "norm_place", WordRange{names_of_places},
        [](const Model&) -> KeyValue { return std::string(kBefore); },
        "Whether attention and networks have their norms before them or behind them."),
    own_model_key(
        KeyKind::function, "embedding_factor", kAboveZero,
        [](const Model&) -> KeyValue { return 1.0; },
        "Factor of the rows that enter the first block."),
    own_model_key(
        KeyKind::function, "residual_factor", kAboveZero,
        [](const Model&) -> KeyValue { return 1.0; },
        "Factor of what attention and networks add to the rows between blocks."),
    own_model_key(
        KeyKind::function, "logits_divisor", kAboveZero,
        [](const Model&) -> KeyValue { return 1.0; }, "What logits are divided by."),
};

}  // namespace residual_keys
}  // namespace moe
