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

bool has_run_of(const std::vector<db::TrialRepeat>& repeats,
                const std::vector<std::int64_t>& runs) {
  return std::ranges::any_of(repeats, [&](const db::TrialRepeat& repeat) {
    return repeat.run_id && std::ranges::count(runs, *repeat.run_id) > 0;
  });
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
    const std::vector<db::TrialRepeat> stored = db::load_trial_repeats(connection, trial.id);
    bool has_spans = false;
    for (const db::TrialRepeat& repeat : stored) {
      if (!repeat.run_id || !has_measured_timeline(connection, *repeat.run_id)) continue;
      all.push_back(*repeat.run_id);
      has_spans = true;
    }
    is_new.push_back(has_spans && !has_run_of(stored, last));
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
