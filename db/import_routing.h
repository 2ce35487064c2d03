#pragma once

#include <cstdint>

#include "db/connection.h"
#include "db/records.h"
#include "db/routing_counts.h"

namespace db {

/// The kind of a run of counts that another program wrote.
constexpr const char* kRoutingRun = "routing";

/// A run whose loads are counts of any total.
struct StoredRouting {
  std::int64_t run_id = 0;
  bool is_known = false;  ///< the same counts were stored before, as that run
};

/// Stores counts as the loads of a run of kind "routing", whose model_json has "experts" and, where
/// it is known, "choices". All of them are stored, or nothing.
StoredRouting store_routing(Connection& connection, Run run, const RoutingCounts& counts);

}  // namespace db
