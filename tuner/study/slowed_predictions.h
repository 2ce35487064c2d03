#pragma once

#include <cstdint>

#include "db/connection.h"
#include "moe/model/model.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Works out, for every finished trial of a study, how much slower its repeats computed than the
/// profile (compute_slowdown.h), and what the profile predicts with computation so slow. Stores
/// both: medians over the repeats, as the measured time is. `profiled`: the situation with the costs
/// of the profile, before any refinement; its Program is the iteration of `model`. Repeats whose
/// runs have no spans do not count.
void store_slowed_predictions(db::Connection& connection, std::int64_t study_id,
                              const moe::Model& model, const Situation& profiled);

}  // namespace tuner
