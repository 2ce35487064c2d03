#include "tuner/study/study_predictions.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <string>
#include <utility>

#include "db/load.h"
#include "db/network.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "tuner/costs/fit_records.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/study/refinement.h"
#include "tuner/study/training_starts.h"

namespace tuner {
namespace {

constexpr double kLeastTrialLimit_s = 120;
/// a trial that takes so many times its prediction counts as hanging
constexpr double kSlack = 10;

/// None where the study has none, or has them in another form.
CostModel stored_costs(const db::Study& study) try {
  return study.cost_model_json.empty() ? CostModel{} : cost_model_from_json(study.cost_model_json);
} catch (const moe::InputError&) {
  return {};
}

}  // namespace

PredictedBy StudyPredictions::predicted_by(const Situation& situation) const {
  return {situation, open_.study.id, open_.run_id};
}

void StudyPredictions::adopt_costs() {
  const std::string costs = to_json(planned_.machine.costs);
  if (open_.study.cost_model_json == costs) return;
  const CostModel before = stored_costs(open_.study);
  open_.study.cost_model_json.clear();
  db::update_study(connection_, open_.study);
  const Situation now = planned_.situation();
  const NewCosts kind =
      last_refinement(open_.study).empty() ? NewCosts::profiled : NewCosts::refined;
  for (const db::Trial& trial : db::load_trials(connection_, open_.study.id)) {
    open_.go_on();
    const auto stored = db::load_schedule(connection_, trial.schedule_id);
    predict_again(connection_, predicted_by(now), trial, moe::schedule_from_json(stored.json),
                  kind);
  }
  std::vector<db::Fit> fits = changed_fits(before, planned_.machine.costs, options_.job.ranks);
  for (db::Fit& fit : fits) {
    fit.run_id = open_.run_id;
    fit.network = db::this_network();
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
  const Situation simulated = planned_.situation();
  MicroProfiles micro_profiles = make_micro_profiles(simulated);
  const Situation measured = measuring(simulated, micro_profiles);
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
    auto all = candidates(decides_from, request, options_.say);
    // Without micro-profiles it makes no choice: the fastest of its candidates are trained.
    if (chooses_by_micro_profiles(request) && !all.empty()) {
      options_.say(request.planner->remark(decides_from, planned_.planner_options(request),
                                           all.front().schedule));
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
      known->second = store_candidate(connection_, predicted_by(simulated), *request.planner,
                                      candidate, options_.memory_limit_bytes);
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

std::vector<Candidate> StudyPredictions::candidates(
    const Situation& situation, const PlannerRequest& request,
    const std::function<void(const std::string&)>& say) {
  try {
    return planned_.candidates(situation, request, say);
  } catch (const std::exception&) {
    if (ended_measuring_) std::rethrow_exception(std::exchange(ended_measuring_, nullptr));
    throw;
  }
}

MicroProfiles StudyPredictions::make_micro_profiles(const Situation& situation) {
  MicroProfileOptions options;
  options.study = options_.name;
  options.run_id = open_.run_id;
  options.job = options_.job;
  options.iterations = options_.micro_profile_steps;
  options.most_of_others = open_.how_measured.most_of_others;
  options.dtype = moe::name_of(options_.model.dtype);
  options.time_limit_s = [&](const moe::Schedule& schedule) {
    return trial_time_limit_s(simulated_s(situation, schedule));
  };
  options.alive = [this] { open_.check_owner(); };
  options.say = options_.say;
  options.check_run = [this](std::int64_t run) { open_.check_place(run); };
  options.before_training = [this, &situation](const moe::Schedule& schedule, int steps) {
    budget_.expect_training(seconds_beside_iterations(connection_, open_.study) +
                            steps * simulated_s(situation, schedule));
  };
  options.retry_failed = options_.retry_failed;
  return {connection_, std::move(options)};
}

double StudyPredictions::trial_time_limit_s(double predicted_s) const {
  if (options_.trial_time_limit_s > 0) return options_.trial_time_limit_s;
  return kLeastTrialLimit_s + kSlack * predicted_s * options_.job.steps;
}

}  // namespace tuner
