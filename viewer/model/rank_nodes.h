#pragma once

#include <map>

#include "db/connection.h"
#include "viewer/model/load.h"

namespace viewer {

/// The node of each rank of a timeline, from the run that it was recorded in or, for that of a
/// trial, from one of the trial's runs. Empty where the database does not say. Throws db::Error.
std::map<int, int> rank_nodes(const db::Connection& connection, const Catalog& catalog,
                              const db::TimelineInfo& timeline);

}  // namespace viewer
