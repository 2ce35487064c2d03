#pragma once

#include <set>
#include <string>
#include <vector>

#include "tuner/planners/planners.h"
#include "tuner/scenario/scenario.h"

namespace tuner {

/// Where no layout is asked for: the layout that is fastest by search (search/search.h), with the
/// model's micro-batches unless it takes no layout with them, under the orders of micro-batches
/// that the requests plan, else sequential. Says which one on stderr. Where nothing is found the
/// options stay as they are, and loading them says why.
ScenarioOptions with_best_layout(ScenarioOptions options,
                                 const std::vector<PlannerRequest>& requests,
                                 std::set<std::string>& said);

}  // namespace tuner
