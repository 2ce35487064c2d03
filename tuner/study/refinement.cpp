#include "tuner/study/refinement.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "db/load.h"
#include "tuner/study/prediction_quality.h"

namespace tuner {
namespace {

std::vector<std::int64_t> runs_of(const db::Connection& connection, const db::Trial& trial) {
  std::vector<std::int64_t> runs;
  for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
    if (repeat.run_id) runs.push_back(*repeat.run_id);
  }
  return runs;
}

}  // namespace

Refinements refinements_of(const db::Study& study) {
  if (study.refinement_runs_json.empty()) return {};
  return nlohmann::json::parse(study.refinement_runs_json).get<Refinements>();
}

void add_refinement(db::Study& study, const std::vector<std::int64_t>& runs) {
  Refinements all = refinements_of(study);
  all.push_back(runs);
  study.refinement_runs_json = nlohmann::json(all).dump();
}

std::vector<std::int64_t> runs_of_next_refinement(const db::Connection& connection,
                                                  const db::Study& study) {
  const Refinements known = refinements_of(study);
  const std::vector<std::int64_t> last = known.empty() ? std::vector<std::int64_t>{} : known.back();
  const auto is_of_last = [&](std::int64_t run) { return std::ranges::count(last, run) > 0; };
  std::vector<std::int64_t> all;
  double best_before_s = std::numeric_limits<double>::infinity(), best_since_s = best_before_s;
  for (const db::Trial& trial : db::load_trials(connection, study.id)) {
    if (trial.status != "done" || !trial.measured_s) continue;
    const std::vector<std::int64_t> runs = runs_of(connection, trial);
    double& best_s = std::ranges::any_of(runs, is_of_last) ? best_before_s : best_since_s;
    best_s = std::min(best_s, *trial.measured_s);
    all.insert(all.end(), runs.begin(), runs.end());
  }
  std::ranges::sort(all);
  return best_since_s < best_before_s ? all : std::vector<std::int64_t>{};
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
