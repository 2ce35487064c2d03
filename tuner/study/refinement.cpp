#include "tuner/study/refinement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "db/load.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/ties.h"

namespace tuner {

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
  std::vector<Repeats> repeats;
  std::vector<bool> is_new;  // since the last refinement
  for (const db::Trial& trial : db::load_trials(connection, study.id)) {
    if (trial.status != "done" || !trial.measured_s) continue;
    std::vector<std::int64_t> runs;
    Repeats& measured = repeats.emplace_back();
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      measured[repeat.repeat] = repeat.measured_s;
      if (repeat.run_id) runs.push_back(*repeat.run_id);
    }
    is_new.push_back(std::ranges::none_of(runs, is_of_last));
    all.insert(all.end(), runs.begin(), runs.end());
  }
  std::ranges::sort(all);
  return !all.empty() && is_new[fastest(repeats)] ? all : std::vector<std::int64_t>{};
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
