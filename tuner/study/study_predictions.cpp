#include "tuner/study/study_predictions.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <string>
#include <utility>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "db/network.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "tuner/costs/fit_records.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/study/refinement.h"

namespace tuner {
namespace {

/// None where the study has none, or has them in another form.
CostModel stored_costs(const db::Study& study) try {
  return study.cost_model_json.empty() ? CostModel{} : cost_model_from_json(study.cost_model_json);
} catch (const moe::InputError&) {
  return {};
}

/// Given schedules without a planner are predicted like those of sequential.
const Planner& planner_of(const db::Trial& trial) {
  return planner_named(trial.planner == kGivenAlone ? db::kSequential : trial.planner);
}

void set_figures(const Prediction& prediction, db::Trial& trial) {
  trial.paper_s = prediction.paper_s;
  trial.predicted_s = prediction.timeline.duration_s;
  trial.lower_bound_s = prediction.bound.seconds();
  trial.bounded_by = prediction.bound.where;
  trial.predicted_peak_bytes = prediction.peak_bytes;
  trial.predicted_deviation_s = prediction.deviation_s;
}

}  // namespace

void StudyPredictions::store_timeline(const Prediction& prediction, const db::Trial& trial) {
  moe::TimelineRows rows = predicted_rows(
      prediction, planned_.groups, fmt::format("{} {}", trial.planner, trial.parameters_json));
  rows.timeline.trial_id = trial.id;
  rows.timeline.run_id = open_.run_id;
  moe::insert(connection_, rows);
}

std::int64_t StudyPredictions::store_candidate(const Situation& situation, const Planner& planner,
                                               const Candidate& candidate) {
  const Prediction prediction = predict(situation, planner, candidate.schedule);
  db::Trial trial;
  trial.study_id = open_.study.id;
  trial.planner = candidate.planner;
  trial.parameters_json = candidate.parameters_json;
  trial.status = "planned";
  set_figures(prediction, trial);

  db::Transaction transaction(connection_, "store a prediction");
  trial.schedule_id = db::find_or_insert(connection_, moe::schedule_row(candidate.schedule));
  trial.id = db::find_or_insert(connection_, trial);
  const std::int64_t limit_bytes = options_.job.memory_limit_bytes;
  if (limit_bytes > 0 && prediction.peak_bytes > limit_bytes) {
    trial.status = "infeasible";
    trial.error = fmt::format("{} predicted, the limit is {}",
                              db::format_cell("bytes", prediction.peak_bytes),
                              db::format_cell("bytes", limit_bytes));
    db::finish_trial(connection_, trial);
  }
  store_timeline(prediction, trial);
  transaction.commit();
  return trial.id;
}

void StudyPredictions::predict_again(const Situation& situation, db::Trial trial, bool refined) {
  const db::Schedule stored = db::load_schedule(connection_, trial.schedule_id);
  const Prediction prediction =
      predict(situation, planner_of(trial), moe::schedule_from_json(stored.json));
  if (refined && !db::is_planned_by_refinement(trial) && !trial.first_predicted_s) {
    trial.first_predicted_s = trial.predicted_s;
  }
  set_figures(prediction, trial);
  db::Transaction transaction(connection_, "store a prediction");
  db::replace_prediction(connection_, trial);
  store_timeline(prediction, trial);
  transaction.commit();
}

void StudyPredictions::adopt_costs() {
  const std::string costs = to_json(planned_.machine.costs);
  if (open_.study.cost_model_json == costs) return;
  const CostModel before = stored_costs(open_.study);
  open_.study.cost_model_json.clear();
  db::update_study(connection_, open_.study);
  const Situation now = planned_.situation();
  const bool is_refined = !last_refinement(open_.study).empty();
  for (const db::Trial& trial : db::load_trials(connection_, open_.study.id)) {
    open_.go_on();
    predict_again(now, trial, is_refined);
  }
  std::vector<db::Fit> fits = changed_fits(before, planned_.machine.costs, options_.job.ranks);
  for (db::Fit& fit : fits) {
    fit.run_id = open_.run_id;
    fit.network = options_.job.network();
    fit.nodes = planned_.machine.cluster.nodes;
  }
  db::Transaction transaction(connection_, "store a profile");
  db::insert(connection_, fits);
  open_.study.cost_model_json = costs;
  open_.study.cluster_json = to_json(planned_.machine.cluster);
  db::update_study(connection_, open_.study);
  transaction.commit();
}

void StudyPredictions::predict_all() {
  Situation simulated = planned_.situation();
  MicroProfiles micro_profiles(
      connection_, open_.study, open_.run_id, trainings_,
      [&](const moe::Schedule& schedule) { return simulated_s(simulated, schedule); });
  const Situation measured = measuring(simulated, micro_profiles);
  PlanMemory memory;
  simulated.memory = &memory;
  std::map<std::string, std::int64_t> seen;  // decisions -> their trial
  for (const db::Trial& trial : db::load_trials(connection_, open_.study.id)) {
    const auto stored = db::load_schedule(connection_, trial.schedule_id);
    seen.emplace(moe::decisions_json(moe::schedule_from_json(stored.json)), trial.id);
  }
  const std::size_t refinement = refinements_of(open_.study).size();
  int made = 0;
  std::vector<PlannerRequest> requests{{&planner_named(db::kSequential), {}}};
  requests.insert(requests.end(), options_.planners.begin(), options_.planners.end());
  for (const PlannerRequest& request : requests) {
    const Situation& decides_from = chooses_by_micro_profiles(request) ? measured : simulated;
    auto all = candidates(decides_from, request);
    // Without micro-profiles it makes no choice: the fastest of its candidates are trained.
    if (chooses_by_micro_profiles(request) && !all.empty()) {
      options_.say(
          remark_of(*request.planner, decides_from, request.options, all.front().schedule));
    }
    for (Candidate& candidate : all) {
      const auto [known, is_new] = seen.try_emplace(moe::decisions_json(candidate.schedule), 0);
      if (!is_new) {
        db::name_planner(connection_, known->second, candidate.planner);
        continue;
      }
      open_.go_on();
      if (const std::string names = moe::changes_results(candidate.schedule); !names.empty()) {
        options_.say(fmt::format("{} {}: {} changes results: its losses are not the others'",
                                 candidate.planner, candidate.parameters_json, names));
      }
      if (refinement > 0) {
        candidate.parameters_json = join_parameters(
            candidate.parameters_json, fmt::format(R"({{"{}": {}}})", db::kRefinement, refinement));
      }
      known->second = store_candidate(simulated, *request.planner, candidate);
      ++made;
    }
  }
  options_.say(fmt::format("{} candidates predicted, {} known before", made,
                           seen.size() - static_cast<std::size_t>(made)));
}

bool StudyPredictions::chooses_by_micro_profiles(const PlannerRequest& request) const {
  return request.planner->measures && options_.micro_profile_steps > 0 && !options_.dry_run;
}

Situation StudyPredictions::measuring(Situation situation, MicroProfiles& micro_profiles) {
  situation.measure = [this, &micro_profiles](const moe::Schedule& schedule) {
    try {
      open_.go_on();
      return micro_profiles.seconds(schedule);
    } catch (...) {
      ended_measuring_ = std::current_exception();
      throw;
    }
  };
  return situation;
}

std::vector<Candidate> StudyPredictions::candidates(const Situation& situation,
                                                    const PlannerRequest& request) {
  try {
    auto [all, refused] =
        candidates_of(*request.planner, situation, request.options, planned_.given);
    for (const std::string& reason : refused) options_.say("left out: " + reason);
    return all;
  } catch (const std::exception&) {
    if (ended_measuring_) std::rethrow_exception(std::exchange(ended_measuring_, nullptr));
    throw;
  }
}

}  // namespace tuner
