#pragma once

#include <string_view>

#include "db/records.h"

namespace db {

/// The activity of a span, as TimelineOp::activity says: where its time counts. Only damaged
/// databases have `unknown`: spans of an op without a description.
enum class Activity { computation, communication, copy, host, unknown };

Activity activity_of(const TimelineOp& op);

/// What the time of an op counts as.
struct CountedAs {
  Activity activity = Activity::unknown;
  bool between_stages = false;  ///< a communication of ranks of different pipeline stages
};
CountedAs counted_as(const TimelineOp& op);

/// Whether ranks of different pipeline stages communicate in groups of this kind
/// (TimelineOp::group_kind).
bool is_between_stages(std::string_view group_kind);

std::string_view activity_name(Activity activity);

}  // namespace db
