#pragma once

#include <array>
#include <string>
#include <string_view>

#include "moe/model/model_key.h"

namespace moe {

/// The pattern where dense_blocks and moe_every say which blocks have experts.
inline constexpr std::string_view kByPeriod = "moe_every";

/// The key block_pattern: a letter for each block, d (dense) or e (experts), repeated; or
/// kByPeriod. Its value lives in Model::own; has_experts() (model.h) reads it.
std::string_view block_pattern(const Model& model);

namespace block_keys {

std::string refuse_pattern(const Model& model, const KeyValue& value);
std::string refuse_period(const Model& model, const KeyValue& value);

/// A pattern that does not fit is refused wherever it stands: what would be in force without it is
/// another model.
inline constexpr std::array kFittingBlocks{
    KeyCondition{"block_pattern", "no more letters than blocks", refuse_pattern}};
/// For dense_blocks and moe_every, which are read after it.
inline constexpr std::array kWithoutPattern{
    KeyCondition{"block_pattern", "no block_pattern", refuse_period}};

inline constexpr ModelKey kPattern = own_key(
    KeyKind::tensors, "block_pattern", AnyText{},
    [](const Model&) -> KeyValue { return std::string(kByPeriod); },
    "Which blocks are dense (d) and which have experts (e), a letter a block, repeated; moe_every: "
    "those that dense_blocks and moe_every say.",
    {}, kFittingBlocks);

}  // namespace block_keys
}  // namespace moe
