#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/compare/comparison.h"

namespace tuner {

/// The trials of a study that have ended and have turns, in its order, and how they compare.
struct ComparedTrials {
  std::vector<db::Trial> trials;
  std::optional<std::size_t> sequential;
  ComparedSchedules comparison;  ///< of the trials; nothing where there is none
};
/// Those that count. Throws db::Error.
ComparedTrials compared_trials(
    const db::Connection& connection, std::int64_t study_id,
    const std::function<bool(const db::Trial&)>& counts = [](const db::Trial&) { return true; });

/// Those of several studies whose repeats of one number took turns (studies_in_turns.h). The
/// sequential trial of the first study that has one stands for all.
ComparedTrials compared_trials(const db::Connection& connection,
                               std::span<const std::int64_t> studies,
                               const std::function<bool(const db::Trial&)>& counts);

}  // namespace tuner
