#include "tuner/study/judge.h"

#include <fmt/format.h>

#include <utility>

#include "db/load.h"
#include "db/planned_by_refinement.h"
#include "db/study_runs.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"
#include "tuner/compare/compared_trials.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/study/study_settings.h"
#include "tuner/study/study_situation.h"

namespace tuner {
namespace {

/// As the study was begun; a study's other settings do not matter to a prediction.
StudyOptions options_of(const db::Study& study) {
  StudyOptions options;
  options.name = study.name;
  options.model = moe::model_from_json(study.model_json);
  options.job.ranks = study.ranks;
  options.job.layout = study.layout;
  options.routing = stored_routing(study.settings_json);
  return options;
}

}  // namespace

JudgedStudy::JudgedStudy(const db::Connection& connection, db::Study study)
    : study_(std::move(study)) {
  ComparedTrials measured = compared_trials(connection, study_.id, [](const db::Trial& trial) {
    return !db::is_planned_by_refinement(trial);
  });
  if (measured.trials.size() < 2) {
    throw moe::InputError(fmt::format("study \"{}\": {} measured trials: expected 2 or more",
                                      study_.name, measured.trials.size()));
  }
  for (const db::Trial& trial : measured.trials) {
    schedules_.push_back(db::load_schedule(connection, trial.schedule_id).json);
  }
  comparison_ = std::move(measured.comparison);
  const auto runs = db::profile_runs(study_).value_or(std::vector<std::int64_t>{});
  if (runs.empty()) throw moe::InputError(fmt::format("study \"{}\" has no profile", study_.name));
  profiled_ =
      read_profiled_runs(connection, moe::model_from_json(study_.model_json), study_.layout, runs);
}

JudgedTrials JudgedStudy::judge(const CostParts& parts) const {
  const StudyOptions options = options_of(study_);
  StudySituation planned(options);
  planned.take(profile_of(profiled_, parts));
  const Situation situation = planned.situation();
  std::vector<PredictedTrial> predicted;
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    const moe::Schedule schedule = moe::schedule_from_json(schedules_[i]);
    predicted.push_back({simulated_s(situation, schedule), comparison_.seconds[i], {}});
  }
  db::PredictionQuality quality = quality_of(
      predicted, [this](std::size_t a, std::size_t b) { return told_apart(comparison_, a, b); });
  return {std::move(predicted), std::move(quality)};
}

}  // namespace tuner
