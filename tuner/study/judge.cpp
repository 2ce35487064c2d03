#include "tuner/study/judge.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/load.h"
#include "db/planned_by_refinement.h"
#include "db/study_runs.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/study/measured_turns.h"
#include "tuner/study/profile.h"
#include "tuner/study/study_situation.h"
#include "tuner/study/ties.h"

namespace tuner {
namespace {

/// As the study was begun; a study's other settings do not matter to a prediction.
StudyOptions options_of(const db::Study& study) {
  StudyOptions options;
  options.name = study.name;
  options.model = moe::model_from_json(study.model_json);
  options.job.ranks = study.ranks;
  options.job.layout = study.layout;
  const auto settings = nlohmann::json::parse(study.settings_json, nullptr, false);
  if (settings.is_object()) options.routing = settings.value("routing", "");
  return options;
}

}  // namespace

JudgedStudy::JudgedStudy(const db::Connection& connection, db::Study study)
    : connection_(connection), study_(std::move(study)) {
  std::vector<Turns> turns;
  for (const db::Trial& trial : db::load_trials(connection, study_.id)) {
    if (trial.status != "done" || db::is_planned_by_refinement(trial)) continue;
    Turns measured = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
    if (measured.empty()) continue;
    const double seconds = trial.comparable_s.value_or(median_s(measured));
    trials_.push_back({db::load_schedule(connection, trial.schedule_id).json, seconds});
    turns.push_back(std::move(measured));
  }
  if (trials_.size() < 2) {
    throw moe::InputError(fmt::format("study \"{}\": {} measured trials: expected 2 or more",
                                      study_.name, trials_.size()));
  }
  if (db::profile_runs(study_).value_or(std::vector<std::int64_t>{}).empty()) {
    throw moe::InputError(fmt::format("study \"{}\" has no profile", study_.name));
  }
  const Differences differences = differences_of(repeats_of(turns));
  told_apart_.assign(trials_.size(), std::vector<bool>(trials_.size()));
  for (std::size_t a = 0; a < trials_.size(); ++a) {
    for (std::size_t b = 0; b < trials_.size(); ++b) {
      told_apart_[a][b] = a != b && differences.noise && told_apart(differences, a, b);
    }
  }
}

Judgement JudgedStudy::judge(const CostParts& parts) const {
  const StudyOptions options = options_of(study_);
  StudySituation planned(options);
  planned.take(profile_from_runs(connection_, options.model, study_.layout,
                                 db::profile_runs(study_).value(), {},
                                 {.parts = parts, .with_errors = false}));
  const Situation situation = planned.situation();
  std::vector<PredictedTrial> predicted;
  for (const Trial& trial : trials_) {
    const moe::Schedule schedule = moe::schedule_from_json(trial.schedule_json);
    predicted.push_back({simulated_s(situation, schedule), trial.measured_s, {}});
  }
  return judgement_of(std::move(predicted),
                      [this](std::size_t a, std::size_t b) { return told_apart_[a][b]; });
}

Judgement judgement_of(std::vector<PredictedTrial> trials,
                       const std::function<bool(std::size_t, std::size_t)>& told_apart) {
  Judgement judgement;
  const std::vector<double> errors = relative_errors(trials);
  judgement.mean_error = mean_size(errors);
  judgement.worst_error = worst_of(errors);
  double sum = 0;
  for (const double error : errors) sum += std::log1p(error);
  const double common = sum / static_cast<double>(errors.size());
  for (const double error : errors) {
    judgement.own_error +=
        std::abs(std::expm1(std::log1p(error) - common)) / static_cast<double>(errors.size());
  }
  judgement.kendall_tau = kendall_tau(trials, told_apart);
  judgement.regret = regret(trials);
  judgement.trials = std::move(trials);
  return judgement;
}

}  // namespace tuner
