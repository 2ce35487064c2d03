#pragma once

#include <string>
#include <string_view>

#include "db/records.h"

namespace viewer {

/// What a span's time is spent on; decides its hue and whether it counts as communication or
/// computation.
enum class OpClass { computation, communication, copy, host };

/// By the op's kind where that is known, by its stream otherwise (imported traces).
OpClass classify(const db::TimelineOp& op);

std::string_view class_name(OpClass op_class);

/// The op that a gradient belongs to: "expert_linear" for "expert_linear_weight_gradient". Other
/// kinds as they are.
std::string_view base_kind(std::string_view kind);

/// "all_to_all dispatch 2/4": the op's name, with its chunk where there are several.
std::string op_label(const db::TimelineOp& op);

/// op_label without the words that the colour tells anyway: "dispatch 2/4".
std::string short_op_label(const db::TimelineOp& op);

}  // namespace viewer
