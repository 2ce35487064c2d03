#pragma once

#include <array>

#include "moe/model/model_key.h"
#include "moe/ops/rotary.h"

namespace moe {

/// The angles of a block of a model with rotary positions: what its keys say.
RotaryAngles rotary_angles(const Model& model, int block = 0);
/// Why these keys do not go together; "" where they do.
std::string rotary_refusal(const Model& model);

/// The keys of [model] that say which columns of a head turn, and how angles are slowed down. Their
/// values live in Model::own.
namespace rotary_keys {

/// Why a model has no use for a key of rotary positions; "" where it has.
std::string refuse_without_rotary(const Model& model, const KeyValue& value);
std::string refuse_columns(const Model& model, const KeyValue& value);
std::string refuse_without_scaling(const Model& model, const KeyValue& value);
std::string refuse_without_turns(const Model& model, const KeyValue& value);
std::string refuse_without_yarn(const Model& model, const KeyValue& value);
std::vector<std::string_view> names_of_scalings();

inline constexpr std::array kWithRotaryAlone{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_without_rotary}};
inline constexpr std::array kColumnsOfAHead{
    KeyCondition{"positions", "positions = \"rotary\"", refuse_without_rotary},
    KeyCondition{"head_width", "heads that are as wide", refuse_columns}};
inline constexpr std::array kWithScaling{
    KeyCondition{"rotary_scaling", "a rotary_scaling", refuse_without_scaling}};
inline constexpr std::array kWithTurns{KeyCondition{
    "rotary_scaling", "rotary_scaling = \"llama3\" or \"yarn\"", refuse_without_turns}};
inline constexpr std::array kWithYarn{
    KeyCondition{"rotary_scaling", "rotary_scaling = \"yarn\"", refuse_without_yarn}};

constexpr ModelKey rotary_key(std::string_view name, KeyRange range,
                              KeyValue (*fallback)(const Model& model), std::string_view meaning,
                              std::span<const KeyCondition> conditions,
                              std::string_view default_text = {}) {
  ModelKey key = own_key(KeyKind::function, name, range, fallback, meaning, default_text);
  key.table = "model";
  key.conditions = conditions;
  return key;
}

inline constexpr std::array kKeys{
    rotary_key(
        "rotary_columns", IntegerRange{1, 1 << 24},
        [](const Model& model) -> KeyValue { return head_width(model); },
        "Columns of a head that turn, an even number: the first ones.", kColumnsOfAHead,
        "head_width"),
    rotary_key(
        "rotary_scaling", WordRange{names_of_scalings},
        [](const Model&) -> KeyValue { return "none"; },
        "How angles are slowed down for sequences that are longer than those of the training.",
        kWithRotaryAlone),
    rotary_key(
        "rotary_factor", kFromOne, [](const Model&) -> KeyValue { return 1.0; },
        "How many times slower slow angles become.", kWithScaling),
    rotary_key(
        "rotary_trained_length", IntegerRange{1, 1 << 24},
        [](const Model&) -> KeyValue { return std::int64_t{4096}; },
        "Tokens of a sequence of that training.", kWithTurns),
    rotary_key(
        "rotary_slow_turns", kAboveZero, [](const Model&) -> KeyValue { return 1.0; },
        "Angles that turn as often, or less, in such a sequence are slowed down whole.",
        kWithTurns),
    rotary_key(
        "rotary_fast_turns", kAboveZero, [](const Model&) -> KeyValue { return 32.0; },
        "Angles that turn as often, or more, are left as they are.", kWithTurns),
    rotary_key(
        "rotary_magnitude", kAboveZero, [](const Model&) -> KeyValue { return 1.0; },
        "Factor of turned columns.", kWithYarn),
    rotary_key(
        "rotary_whole_pairs", TrueOrFalse{}, [](const Model&) -> KeyValue { return true; },
        "Whether the pairs of columns from which on angles are slowed down are whole numbers.",
        kWithYarn),
};

}  // namespace rotary_keys
}  // namespace moe
