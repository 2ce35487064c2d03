#pragma once

#include "tuner/commands/commands.h"
#include "tuner/study/prediction.h"

/// What simulate prints instead of its summary.
namespace tuner {

/// The text of timeline_text.h; with another format than a table a row for each span.
void print_timeline(const Prediction& prediction, const Arguments& arguments);

/// The rows of breakdown.h.
void print_breakdown(const Prediction& prediction, const Arguments& arguments);

}  // namespace tuner
