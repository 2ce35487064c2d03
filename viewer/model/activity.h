#pragma once

#include <string_view>

#include "db/records.h"

namespace viewer {

/// What a span's time is spent on, as the database says; decides its hue and what it counts as.
/// `unknown` is what only damaged databases hold: spans of an op that is not described.
enum class Activity { computation, communication, copy, host, unknown };

Activity activity_of(const db::TimelineOp& op);

std::string_view activity_name(Activity activity);

}  // namespace viewer
