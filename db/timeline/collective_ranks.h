#pragma once

#include <string>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// The layout in which a timeline was measured or predicted: that of its run, else of its trial's
/// study; empty where it is not known.
std::string layout_of(const Connection& connection, const TimelineInfo& timeline);

/// Whether a layout divides ranks in one way at most: "dp=1,ep=4,esp=1,tp=1". A layout that is not
/// known does not.
bool divides_once(const std::string& layout);

/// Whether all ranks take part in every collective of a timeline, so that the last one to begin is
/// the one that the others wait for: its layout divides ranks once, and its nodes have one rank
/// each or one node has them all. False where that is not known.
bool all_ranks_together(const Connection& connection, const TimelineInfo& timeline);

}  // namespace db
