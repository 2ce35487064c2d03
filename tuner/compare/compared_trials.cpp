#include "tuner/compare/compared_trials.h"

#include <utility>

#include "db/load.h"

namespace tuner {

ComparedTrials compared_trials(const db::Connection& connection, std::int64_t study_id,
                               const std::function<bool(const db::Trial&)>& counts) {
  return compared_trials(connection, std::span(&study_id, 1), counts);
}

ComparedTrials compared_trials(const db::Connection& connection,
                               std::span<const std::int64_t> studies,
                               const std::function<bool(const db::Trial&)>& counts) {
  ComparedTrials all;
  std::vector<Turns> turns;
  for (const std::int64_t study : studies) {
    for (db::Trial& trial : db::load_trials(connection, study, "done")) {
      if (!counts(trial)) continue;
      Turns measured = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
      if (measured.empty()) continue;
      if (trial.planner == db::kSequential && !all.sequential) all.sequential = turns.size();
      turns.push_back(std::move(measured));
      all.trials.push_back(std::move(trial));
    }
  }
  if (!turns.empty()) all.comparison = compare(std::move(turns), all.sequential);
  return all;
}

}  // namespace tuner
