#include "tuner/search/plan_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/console/progress.h"
#include "moe/errors.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/search/closer_look.h"
#include "tuner/search/in_parallel.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner {
namespace {

/// Of a larger Program joint goes on from the order of micro-batches alone, and of one still larger
/// nothing is planned: 8 setups would take minutes.
constexpr int kMostOpsFromAllPlanners = 2000;
constexpr int kMostPlannedOps = 60'000;
/// Schedules times ops that joint tries then, so that a setup takes some seconds.
constexpr int kMostTriedOps = 100'000, kFewestTriedFrom = 4, kMostTriedFrom = 24;

moe::Schedule plan_of(PlannerRequest request, const Situation& situation,
                      const moe::Schedule& ordered) {
  const auto ops = static_cast<int>(situation.program.ops.size());
  if (request.planner->name != kJoint || ops <= kMostOpsFromAllPlanners) {
    return plan_with(*request.planner, situation, request.options);
  }
  const int usual = std::clamp(kMostTriedOps / ops, kFewestTriedFrom, kMostTriedFrom);
  request.options.asked.try_emplace(kMostTried.key, usual);
  return plan_joint_from(situation, request.options, ordered);
}

/// Takes the fastest schedule of the planners, where one is faster than the setup's own and fits.
void take_fastest_plan(const std::vector<PlannerRequest>& planners, const Situation& situation,
                       FoundSetup& found) {
  for (const PlannerRequest& request : planners) {
    try {
      moe::Schedule schedule = plan_of(request, situation, found.schedule);
      if (!fits_memory(situation, schedule)) continue;
      const double seconds = simulated_s(situation, schedule);
      if (seconds >= found.predicted_s) continue;
      found.predicted_s = seconds;
      found.schedule = std::move(schedule);
    } catch (const moe::Refusal&) {  // the planner has nothing for this setup
    }
  }
}

/// That of the median iteration. `program`: with the schedule.
LowerBound bound_of(const Situation& situation, const moe::Schedule& schedule,
                    const moe::Program& program) {
  const std::vector<double> seconds = simulated_iterations_s(situation, schedule, &program);
  return lower_bound(program, judged_costs(situation, program)[median_place(seconds)],
                     situation.cluster);
}

/// The parts with what stays of more micro-batches, and all else as of `fewer`. Both are scheduled.
std::vector<PeakParts> with_bytes_of(const moe::Program& more, const moe::Program& fewer,
                                     std::vector<PeakParts> parts) {
  const std::vector<std::int64_t> of_more = bytes_of_whole_iteration(more);
  const std::vector<std::int64_t> of_fewer = bytes_of_whole_iteration(fewer);
  for (std::size_t stage = 0; stage < parts.size(); ++stage) {
    parts[stage].buffers += of_more[stage] - of_fewer[stage];
  }
  return parts;
}

struct PlannedSetup {
  FoundSetup found;
  std::vector<std::string> remarks;
};

/// `best_s`: the least time of all candidates.
PlannedSetup plan_one(SearchedSetups& searched, const std::vector<PlannerRequest>& planners,
                      const SearchCandidate& one, double best_s) {
  PlannedSetup planned;
  FoundSetup& found = planned.found;
  found.setup = searched.space.setups[one.setup];
  found.schedule = one.schedule;
  found.order = one.order->name;
  found.predicted_s = one.least_s;
  const auto fewer = fewer_of(searched, one.setup, *one.order);
  Scenario scenario = searched.of_setup(found.setup, predicted_model(searched, found.setup, fewer));
  PlanningProgress silent("search", {}, kSilentPlanner_s);
  const Situation situation = remembered_situation(searched, one.setup, scenario, silent);
  const auto ops = static_cast<int>(scenario.program.ops.size());
  found.was_planned = !fewer && ops <= kMostPlannedOps && searched.known[one.setup].any_s <= best_s;
  if (found.was_planned) take_fastest_plan(planners, situation, found);
  const moe::Program program = moe::apply(scenario.program, found.schedule);
  LowerBound bound = bound_of(situation, found.schedule, program);
  std::vector<PeakParts> stages;
  if (!fewer || fewer->adds_memory) {
    stages = stage_parts(program, scenario.groups, routings_of(situation));
  }
  if (fewer) {
    const Scenario few = searched.of_setup(
        found.setup, with_so_many_micro_batches(searched.model, found.setup, fewer->few));
    const Situation of_few = remembered_situation(searched, one.setup, few, silent);
    const moe::Program program_of_few = moe::apply(few.program, found.schedule);
    bound = bound_of_all(found.setup, *fewer, bound_of(of_few, found.schedule, program_of_few),
                         std::move(bound));
    const std::vector<PeakParts> of_fewer =
        stage_parts(program_of_few, few.groups, routings_of(of_few));
    if (!fewer->adds_memory) stages = with_bytes_of(program, program_of_few, of_fewer);
    std::ranges::transform(of_fewer, stages, stages.begin(),
                           [&](const PeakParts& less, const PeakParts& more) {
                             return peak_of_all(found.setup, *fewer, less, more);
                           });
  }
  found.peak = of_fullest(stages);
  found.lower_bound_s = bound.seconds();
  found.bounded_by = bound.where;
  found.tokens = searched.model.global_batch * searched.model.sequence_length;
  found.simulated_micro_batches = scenario.model.micro_batches;
  planned.remarks = std::move(scenario.remarks);
  return planned;
}

}  // namespace

PlannedSetups plan_found(SearchedSetups& searched, const std::vector<PlannerRequest>& planners,
                         const std::vector<const SearchCandidate*>& taken) {
  std::vector<PlannedSetup> planned(taken.size());
  db::Progress progress(fmt::format("search: planners of {} setups", taken.size()),
                        static_cast<double>(taken.size()));
  in_parallel(
      taken.size(),
      [&](std::size_t i) {
        planned[i] = plan_one(searched, planners, *taken[i], taken.front()->least_s);
      },
      [&](std::size_t ended) { progress.at(static_cast<double>(ended)); });
  PlannedSetups all;
  for (PlannedSetup& one : planned) all.found.push_back(std::move(one.found));
  if (!planned.empty()) all.remarks = std::move(planned.front().remarks);
  std::ranges::stable_sort(all.found, {}, &FoundSetup::predicted_s);
  return all;
}

}  // namespace tuner
