#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/records.h"

/// The name of an op on the screen.
namespace db {

/// The op that a gradient belongs to: "expert_linear" for "expert_linear_weight_gradient". Other
/// kinds as they are.
std::string_view base_kind(std::string_view kind);

/// The base kind of an op as the legend has it: "no kind" where it has none.
std::string legend_kind(const TimelineOp& op);

/// "all_to_all dispatch 2/4": the op's name, or its kind where it has no name, and its chunk where
/// there are several.
std::string op_label(const TimelineOp& op);

/// "all_to_all dispatch (forward, layer 1)".
std::string op_and_place(const TimelineOp& op);

/// "2/4"; empty where there is one chunk.
std::string chunk_text(const TimelineOp& op);

/// op_label without the kind, which the colour shows: "dispatch 2/4".
std::string short_op_label(const TimelineOp& op);

/// The labels of an op, of which the first that fits is shown: op_label, short_op_label, then
/// shorter ones. Those of an exchange say its direction to the last: "dispatch 2/4", "disp 2/4",
/// "D 2/4", "D". Others end with their chunk.
std::vector<std::string> op_labels(const TimelineOp& op);

}  // namespace db
