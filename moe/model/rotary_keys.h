#pragma once

#include <array>

#include "moe/model/model_key.h"
#include "moe/ops/rotary.h"

namespace moe {

/// The angles of a block of a model with rotary positions: what its keys say. Without a block:
/// those of blocks without the window.
RotaryAngles rotary_angles(const Model& model, int block = -1);
/// Whether the block turns queries and keys.
bool turns(const Model& model, int block);
/// Whether queries and keys are turned before they are normed.
bool turns_before_norms(const Model& model);
/// Why these keys do not go together; "" where they do.
std::string rotary_refusal(const Model& model);

/// The keys of [model] that say which columns of a head turn, and how angles are slowed down. Their
/// values live in Model::own.
namespace rotary_keys {

/// Why a model has no use for a key of rotary positions; "" where it has.
std::string refuse_without_rotary(const Model& model, const KeyValue& value);
std::string refuse_pattern(const Model& model, const KeyValue& value);
std::string refuse_without_norms(const Model& model, const KeyValue& value);
std::string refuse_columns(const Model& model, const KeyValue& value);
std::string refuse_without_scaling(const Model& model, const KeyValue& value);
std::string refuse_without_turns(const Model& model, const KeyValue& value);
std::string refuse_without_yarn(const Model& model, const KeyValue& value);
std::vector<std::string_view> names_of_scalings();

/// Latent attention has a product of its own for the columns that turn.
bool has_latents(const ModelKey& key, const Model& model);
inline constexpr std::array kOfLatents{KindWhere{KeyKind::tensors, "a latent_rank", has_latents}};

inline constexpr std::array kWithRotaryAlone{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_without_rotary}};
inline constexpr std::array kPatternOfBlocks{
    KeyCondition{"positions", "positions = \"rotary\", letters t and n", refuse_pattern}};
inline constexpr std::array kWithNorms{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_without_rotary},
    KeyCondition{"query_key_norm", "a query_key_norm", refuse_without_norms}};
inline constexpr std::array kColumnsOfAHead{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_without_rotary},
    KeyCondition{"head_width", "heads that are as wide", refuse_columns}};
inline constexpr std::array kWithScaling{
    KeyCondition{"rotary_scaling", "a rotary_scaling", refuse_without_scaling}};
inline constexpr std::array kWithTurns{KeyCondition{
    "rotary_scaling", "rotary_scaling = \"llama3\" or \"yarn\"", refuse_without_turns}};
inline constexpr std::array kWithYarn{
    KeyCondition{"rotary_scaling", "rotary_scaling = \"yarn\"", refuse_without_yarn}};

inline constexpr std::array kKeys{
    own_model_key(
        KeyKind::function, "rotary_pattern", AnyText{},
        [](const Model&) -> KeyValue { return std::string("t"); },
        "Which blocks turn queries and keys (t) and which have no positions (n), a letter a block, "
        "repeated.",
        {}, kPatternOfBlocks),
    own_model_key(
        KeyKind::function, "query_key_norm_turned", TrueOrFalse{},
        [](const Model&) -> KeyValue { return false; },
        "Whether queries and keys are turned before they are normed.", {}, kWithNorms),
    own_model_key(
        KeyKind::function, "rotary_columns", IntegerRange{1, 1 << 24},
        [](const Model& model) -> KeyValue { return head_width(model); },
        "Columns of a head that turn, an even number: the first ones.", "head_width",
        kColumnsOfAHead, kOfLatents),
    own_model_key(
        KeyKind::function, "rotary_scaling", WordRange{names_of_scalings},
        [](const Model&) -> KeyValue { return "none"; },
        "How angles are slowed down for sequences that are longer than those of the training.", {},
        kWithRotaryAlone),
    own_model_key(
        KeyKind::function, "rotary_factor", kFromOne, [](const Model&) -> KeyValue { return 1.0; },
        "How many times slower slow angles become.", {}, kWithScaling),
    own_model_key(
        KeyKind::function, "rotary_trained_length", IntegerRange{1, 1 << 24},
        [](const Model&) -> KeyValue { return std::int64_t{4096}; },
        "Tokens of a sequence of that training.", {}, kWithTurns),
    own_model_key(
        KeyKind::function, "rotary_slow_turns", kAboveZero,
        [](const Model&) -> KeyValue { return 1.0; },
        "Angles that turn as often, or less, in such a sequence are slowed down whole.", {},
        kWithTurns),
    own_model_key(
        KeyKind::function, "rotary_fast_turns", kAboveZero,
        [](const Model&) -> KeyValue { return 32.0; },
        "Angles that turn as often, or more, are left as they are.", {}, kWithTurns),
    own_model_key(
        KeyKind::function, "rotary_magnitude", kAboveZero,
        [](const Model&) -> KeyValue { return 1.0; }, "Factor of turned columns.", {}, kWithYarn),
    own_model_key(
        KeyKind::function, "rotary_whole_pairs", TrueOrFalse{},
        [](const Model&) -> KeyValue { return true; },
        "Whether the pairs of columns from which on angles are slowed down are whole numbers.", {},
        kWithYarn),
};

}  // namespace rotary_keys
}  // namespace moe
