#include "tuner/planners/situation/situation_costs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "moe/memory/memory_plan.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "tuner/simulate/simulate.h"

namespace tuner {

std::vector<OpCost> costs_of(const Situation& situation, const moe::Program& program) {
  return op_costs(program, situation.groups, bind_all(program, situation.groups, situation.routing),
                  situation.costs, situation.cluster);
}

std::vector<double> alone_seconds(const Situation& situation, const std::vector<OpCost>& costs) {
  std::vector<double> seconds;
  for (const OpCost& cost : costs) {
    seconds.push_back(alone_seconds(cost, situation.groups, situation.cluster));
  }
  return seconds;
}

std::size_t median_place(std::span<const double> seconds) {
  std::vector<std::size_t> places(seconds.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return seconds[place]; });
  return places[(places.size() - 1) / 2];
}

std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Program& scheduled) {
  std::vector<double> seconds;
  for (const moe::Routing& routing : routings_of(situation)) {
    seconds.push_back(
        simulate(scheduled, situation.groups, routing, situation.costs, situation.cluster)
            .duration_s);
  }
  return seconds;
}

double simulated_s(const Situation& situation, const moe::Schedule& schedule) {
  return simulated_program_s(situation, moe::apply(situation.program, schedule));
}

double measured_or_simulated_s(const Situation& situation, const moe::Schedule& schedule) {
  return situation.measure ? situation.measure(schedule) : simulated_s(situation, schedule);
}

double simulated_program_s(const Situation& situation, const moe::Program& scheduled) {
  const std::vector<double> seconds = simulated_iterations_s(situation, scheduled);
  return seconds[median_place(seconds)];
}

Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates) {
  std::vector<double> seconds;
  for (const Candidate& one : candidates) seconds.push_back(simulated_s(situation, one.schedule));
  const auto least = std::ranges::min_element(seconds) - seconds.begin();
  return std::move(candidates[least]);
}

std::int64_t planned_peak_bytes(const moe::Program& program, const moe::Groups& groups,
                                const moe::Routing& routing, moe::Pool pool) {
  const std::vector<moe::StageProgram> stages = moe::stage_programs(program);
  std::int64_t peak_bytes = 0;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    const moe::Program& stage = stages[moe::stage_of(groups, rank)].program;
    peak_bytes = std::max(peak_bytes, moe::planned_peak_bytes(
                                          stage, moe::bind(program, routing, groups, rank), pool));
  }
  return peak_bytes;
}

std::int64_t planned_peak_bytes(const Situation& situation, const moe::Program& scheduled,
                                moe::Pool pool) {
  std::int64_t peak_bytes = 0;
  for (const moe::Routing& routing : routings_of(situation)) {
    peak_bytes =
        std::max(peak_bytes, planned_peak_bytes(scheduled, situation.groups, routing, pool));
  }
  return peak_bytes;
}

bool fits_memory(const Situation& situation, const moe::Program& scheduled) {
  const std::int64_t limit = situation.cluster.memory_bytes;
  return limit == 0 || planned_peak_bytes(situation, scheduled) <= limit;
}

}  // namespace tuner
