#include "tuner/study/refinement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "db/load.h"
#include "db/study_runs.h"
#include "tuner/compare/compared_trials.h"
#include "tuner/study/measured_runs.h"
#include "tuner/study/prediction_quality.h"

namespace tuner {

Refinements refinements_of(const db::Study& study) { return db::refinement_runs(study).value(); }

std::vector<std::int64_t> last_refinement(const db::Study& study) {
  const Refinements all = refinements_of(study);
  return all.empty() ? std::vector<std::int64_t>{} : all.back();
}

void add_refinement(db::Study& study, const std::vector<std::int64_t>& runs) {
  Refinements all = refinements_of(study);
  all.push_back(runs);
  study.refinement_runs_json = nlohmann::json(all).dump();
}

std::vector<std::int64_t> runs_of_next_refinement(const db::Connection& connection,
                                                  const db::Study& study) {
  const std::vector<std::int64_t> last = last_refinement(study);
  std::vector<std::int64_t> all;
  std::vector<bool> is_new;  // to a refinement: since the last one
  const ComparedTrials measured = compared_trials(connection, study.id);
  for (const db::Trial& trial : measured.trials) {
    bool has_spans = false, was_fitted = false;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      if (!repeat.run_id) continue;
      was_fitted |= std::ranges::count(last, *repeat.run_id) > 0;
      if (!has_measured_timeline(connection, *repeat.run_id)) continue;
      all.push_back(*repeat.run_id);
      has_spans = true;
    }
    is_new.push_back(has_spans && !was_fitted);
  }
  std::ranges::sort(all);
  return !all.empty() && is_new[measured.comparison.fastest] ? all : std::vector<std::int64_t>{};
}

std::string predicted_within(const std::vector<db::Trial>& trials) {
  std::vector<PredictedTrial> finished;
  for (const db::Trial& trial : trials) {
    if (trial.status != "done" || !trial.measured_s || !trial.predicted_s) continue;
    finished.push_back({*trial.predicted_s, *trial.measured_s, {}});
  }
  return finished.empty() ? "" : within_in_words(relative_errors(finished));
}

}  // namespace tuner
