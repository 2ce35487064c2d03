#pragma once

#include <string_view>

#include "db/records.h"

namespace viewer {

/// The activity of a span, as the database says. It decides the hue of the span and
/// where it counts. Only damaged databases have `unknown`: spans of an op without a description.
enum class Activity { computation, communication, copy, host, unknown };

Activity activity_of(const db::TimelineOp& op);

/// What the time of an op counts as.
struct OpActivity {
  Activity activity = Activity::unknown;
  bool between_stages = false;  ///< a communication of ranks of different pipeline stages
};
OpActivity counted_as(const db::TimelineOp& op);

std::string_view activity_name(Activity activity);

}  // namespace viewer
