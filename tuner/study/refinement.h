#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// The refinements of a study, oldest first. For each, the runs of trials to which its costs are
/// fitted besides the profile runs.
using Refinements = std::vector<std::vector<std::int64_t>>;

/// Reads the refinements from the study's row.
Refinements refinements_of(const db::Study& study);
/// The runs of the newest refinement; none where there was none.
std::vector<std::int64_t> last_refinement(const db::Study& study);
void add_refinement(db::Study& study, const std::vector<std::int64_t>& runs);

/// The measured runs of all finished trials, to which the next refinement is fitted, without those
/// whose spans were removed (db/prune.h). Empty where it would change nothing: since the last one no
/// trial was measured, or none that is faster than the best trial from before it.
std::vector<std::int64_t> runs_of_next_refinement(const db::Connection& connection,
                                                  const db::Study& study);

/// "within 2.1% (median; worst 4.0%)": how far predictions are from measurements, over the trials
/// that have both. "" where no trial has.
std::string predicted_within(const std::vector<db::Trial>& trials);

}  // namespace tuner
