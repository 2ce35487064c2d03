#pragma once

#include <array>

#include "moe/model/model_key.h"

namespace moe {

/// Tokens that a token of the block sees, itself among them; 0: all up to itself.
std::int64_t attention_window(const Model& model, int block);
/// Whether every head has a learned score that takes a share of each query's probabilities.
bool has_attention_sinks(const Model& model);
/// Factor of scores; 0: 1 / sqrt(head_width).
double attention_scale(const Model& model);
/// Base of the angles of a block; of one below 0: of blocks without the window.
double rotary_base(const Model& model, int block);
/// Whether rotary_scaling is of the angles of such a block.
bool scales_angles(const Model& model, int block);

/// The keys of [model] that say what attention sees. Their values live in Model::own.
namespace attention_keys {

std::string refuse_pattern(const Model& model, const KeyValue& value);
std::string refuse_base_without_window(const Model& model, const KeyValue& value);
std::string refuse_scaling_without_window(const Model& model, const KeyValue& value);

inline constexpr std::array kWithWindow{
    KeyCondition{"window", "a window, letters s and f", refuse_pattern}};
inline constexpr std::array kWithWindowAndRotary{
    KeyCondition{"window", "a window and positions = \"rotary\"", refuse_base_without_window}};
inline constexpr std::array kWithWindowAndScaling{
    KeyCondition{"window", "a window and a rotary_scaling", refuse_scaling_without_window}};

inline constexpr std::array kKeys{
    own_model_key(
        KeyKind::function, "window", IntegerRange{0, 1 << 24},
        [](const Model&) -> KeyValue { return std::int64_t{0}; },
        "Tokens that a token sees, itself among them; 0: all before it."),
    own_model_key(
        KeyKind::function, "window_pattern", AnyText{},
        [](const Model&) -> KeyValue { return std::string("s"); },
        "Which blocks have the window (s) and which see all (f), a letter a block, repeated.", {},
        kWithWindow),
    own_model_key(
        KeyKind::function, "window_rotary_base", kFromOne,
        [](const Model& model) -> KeyValue { return model.rotary_base; },
        "Base of the angles of blocks with the window.", "rotary_base", kWithWindowAndRotary),
    own_model_key(
        KeyKind::function, "window_rotary_scaling", TrueOrFalse{},
        [](const Model&) -> KeyValue { return true; },
        "Whether rotary_scaling is of the angles of blocks with the window, too.", {},
        kWithWindowAndScaling),
    own_model_key(
        KeyKind::tensors, "attention_sinks", TrueOrFalse{},
        [](const Model&) -> KeyValue { return false; },
        "Whether a learned score of each head takes a share of every query's probabilities."),
    own_model_key(
        KeyKind::function, "attention_scale", or_word(kAboveZero, "head_width"),
        [](const Model&) -> KeyValue { return std::string("head_width"); },
        "Factor of scores; by head_width: 1 over its root."),
};

}  // namespace attention_keys
}  // namespace moe
