#pragma once

#include "db/timeline/timeline.h"
#include "tuner/commands/commands.h"

/// What simulate prints instead of its summary.
namespace tuner {

/// The text of db/timeline/timeline_text.h; with another format than a table a row for each span.
void print_timeline(const db::Timeline& timeline, const Arguments& arguments);

/// The rows of db/timeline/breakdown.h.
void print_breakdown(const db::Timeline& timeline, const Arguments& arguments);

}  // namespace tuner
