#include "tuner/commands/compared_rows.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "db/console/progress.h"
#include "db/records.h"
#include "db/timeline/summary.h"
#include "moe/errors.h"
#include "moe/program/timeline_rows.h"
#include "tuner/commands/balance_figures.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// Writes the figures of a row.
void write_figures(const moe::Schedule& schedule, const Prediction& prediction,
                   const Situation& situation, const EvenLoads& even, double sequential_s,
                   double planning_s, Compared& row) {
  const Degrees degrees = degrees_of(schedule);
  const db::Timeline timeline =
      moe::asked_timeline(prediction.program, prediction.timeline, situation.groups);
  const double predicted_s = prediction.timeline.duration_s;
  row.figures = {std::int64_t{degrees.forward},
                 std::int64_t{degrees.backward},
                 db::optional_cell(prediction.paper_s),
                 predicted_s,
                 db::optional_cell(prediction.deviation_s),
                 prediction.bound.seconds(),
                 sequential_s / predicted_s,
                 db::summarize(timeline, timeline.extent).mean.exposed_s,
                 max_over_mean(situation, schedule, prediction),
                 even.force_balanced_share(schedule, prediction),
                 prediction.peak_bytes,
                 fits_memory(prediction.peak_bytes, situation.cluster),
                 planning_s};
  if (const auto replicas = replica_figures(situation, schedule, prediction, timeline)) {
    row.of_replicas = {replicas->away_share, replicas->expert_bytes, replicas->rule_s,
                       replicas->exposed_experts_s};
  }
}

/// The planner's own choice.
Candidate own_choice(const Situation& whole, const PlannerRequest& request, const Given* given) {
  const Planner& planner = *request.planner;
  moe::Schedule schedule = given ? plan_from(*given, planner, request.options, whole)
                                 : plan_with(planner, whole, request.options);
  std::string parameters = parameters_of(planner, request.options, schedule);
  return {std::move(schedule), std::move(parameters), std::string(planner.name)};
}

Compared row_of(const PlannerRequest& request, const Given* given) {
  Compared row;
  row.planner = request.planner->name;
  if (given) row.given = given->name;
  return row;
}

Compared refused(const PlannerRequest& request, const Given* given, const std::string& reason) {
  Compared row = row_of(request, given);
  row.parameters_json = to_json(request.options);
  row.refusal = reason;
  return row;
}

/// Calls add(request, given, result) for every request, alone and with each given schedule. What it
/// refuses is a row.
template <class Add>
ComparedRows rows_of_all(const std::vector<PlannerRequest>& requests,
                         const std::vector<Given>& given, const Add& add) {
  ComparedRows result;
  db::Progress progress("compare", static_cast<double>(requests.size() * (1 + given.size())));
  double done = 0;
  const auto add_one = [&](const PlannerRequest& request, const Given* one) {
    try {
      add(request, one, result);
    } catch (const moe::Refusal& refusal) {
      result.rows.push_back(refused(request, one, refusal.what()));
      if (!result.first_refusal) result.first_refusal = std::current_exception();
    }
    progress.at(++done);
  };
  for (const PlannerRequest& request : requests) add_one(request, nullptr);
  for (const Given& one : given) {
    for (const PlannerRequest& request : requests) add_one(request, &one);
  }
  return result;
}

}  // namespace

ComparedRows compare_planners(const Situation& situation,
                              const std::vector<PlannerRequest>& requests,
                              const std::vector<Given>& given, bool all_candidates) {
  PlanMemory memory;
  Situation whole = situation;
  whole.memory = &memory;
  const EvenLoads even(situation);
  const Planner& baseline = planner_named(db::kSequential);
  const double sequential_s =
      predict(whole, baseline, baseline.plan(whole, {})).timeline.duration_s;
  return rows_of_all(
      requests, given, [&](const PlannerRequest& request, const Given* one, ComparedRows& result) {
        const Planner& planner = *request.planner;
        const auto begin = std::chrono::steady_clock::now();
        GivenCandidates tried;
        if (!all_candidates) {
          tried.candidates.push_back(own_choice(whole, request, one));
        } else if (one != nullptr) {
          tried = candidates_of(planner, whole, request.options, *one);
        } else {
          tried.candidates = candidates_of(planner, whole, request.options);
        }
        const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - begin;
        for (const std::string& reason : tried.refused) {
          result.rows.push_back(refused(request, one, reason));
        }
        for (Candidate& candidate : tried.candidates) {
          Compared row = row_of(request, one);
          row.planner = candidate.planner;
          row.parameters_json = std::move(candidate.parameters_json);
          row.changes = moe::changes_results(candidate.schedule);
          const Prediction prediction = predict(whole, planner, candidate.schedule);
          result.fits_used.merge(fit_use(whole.costs, prediction.program, prediction.costs.ops));
          write_figures(candidate.schedule, prediction, whole, even, sequential_s, planning.count(),
                        row);
          const bool is_odd = candidate.schedule.decisions.empty() ||
                              fits_memory(prediction.peak_bytes, whole.cluster) == db::Cell("no");
          if (!all_candidates && is_odd) {
            const std::string remark =
                remark_of(planner, whole, request.options, candidate.schedule);
            if (!remark.empty()) spdlog::info(remark);
          }
          result.rows.push_back(std::move(row));
        }
      });
}

ComparedRows replay_planners(const Situation& situation,
                             const std::vector<PlannerRequest>& requests,
                             const std::vector<Given>& given, const ReplayTurns& turns) {
  std::vector<PlanMemory> memories(routings_of(situation).size());
  const EvenLoads even(situation);
  const Planner& baseline = planner_named(db::kSequential);
  const double sequential_s =
      replay(situation, baseline, turns, memories, [&](const Situation& one) {
        return baseline.plan(one, {});
      }).prediction.timeline.duration_s;
  return rows_of_all(
      requests, given, [&](const PlannerRequest& request, const Given* one, ComparedRows& result) {
        std::chrono::duration<double> planning{};
        const Replay replayed =
            replay(situation, *request.planner, turns, memories, [&](const Situation& iteration) {
              const auto begin = std::chrono::steady_clock::now();
              moe::Schedule schedule = own_choice(iteration, request, one).schedule;
              planning += std::chrono::steady_clock::now() - begin;
              return schedule;
            });
        Compared row = row_of(request, one);
        row.parameters_json = to_json(request.options);
        row.changes = moe::changes_results(replayed.schedule);
        result.fits_used.merge(
            fit_use(situation.costs, replayed.prediction.program, replayed.prediction.costs.ops));
        write_figures(replayed.schedule, replayed.prediction, situation, even, sequential_s,
                      planning.count() / replayed.plans, row);
        result.rows.push_back(std::move(row));
      });
}

}  // namespace tuner
