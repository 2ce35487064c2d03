#pragma once

#include <cstdint>
#include <functional>

#include "db/connection.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Works out, for every finished trial of a study, how much slower its repeats computed than the
/// profile (compute_slowdown), and what the profile predicts for ranks as slow as in them, with the
/// lower bound. Stores these: medians over the repeats. `profiled`: the situation with the costs of
/// the profile alone, before any refinement. Repeats whose runs have no spans do not count.
/// `go_on` is called before each run is read; what it throws is passed on, and nothing is stored
/// then.
void store_slowed_predictions(db::Connection& connection, std::int64_t study_id,
                              const Situation& profiled, const std::function<void()>& go_on);

}  // namespace tuner
