#include "tuner/planners/situation/situation_costs.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "moe/memory/memory_plan.h"
#include "moe/program/stage_program.h"
#include "moe/rows/balance.h"
#include "moe/rows/binding.h"
#include "tuner/machine/slowdown.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

constexpr int kMostPlannedRanks = 512;

void say_trying(const Situation& situation, std::string_view what, const moe::Schedule& schedule) {
  if (situation.progress != nullptr) situation.progress->tries(what, schedule);
}

/// How schedules are judged and predicted: calls among more than 16 ranks have a flow for each rank
/// and link in place of one for each pair of ranks. Times differ by less than 0.1%, and a planner
/// that simulates dozens of schedules of 48 ranks takes a tenth of the time.
constexpr Folding kSimulatedFolding{.most_pairs = 16 * 16};

/// The costs of an iteration with this routing in which all ranks compute at their typical speed.
ProgramCosts even_costs(const Situation& situation, const moe::Program& scheduled,
                        const moe::Routing& routing) {
  return program_costs(scheduled, situation.groups, routing, situation.costs, situation.cluster,
                       kSimulatedFolding);
}

}  // namespace

ProgramCosts costs_of(const Situation& situation, const moe::Program& program) {
  return program_costs(program, situation.groups, situation.routing, situation.costs,
                       situation.cluster, {.most_single = situation.groups.ranks, .most_pairs = 0});
}

std::vector<double> alone_seconds(const Situation& situation, const ProgramCosts& costs) {
  std::vector<double> seconds;
  for (const OpCost& cost : costs.ops) {
    seconds.push_back(alone_seconds(cost, costs.classes.groups, situation.cluster));
  }
  return seconds;
}

TimedProgram timed(const Situation& situation, const moe::Schedule& schedule) {
  say_trying(situation, "times the ops of", schedule);
  TimedProgram one{moe::apply(situation.program, schedule), {}};
  one.alone_s = alone_seconds(situation, costs_of(situation, one.program));
  return one;
}

std::size_t median_place(std::span<const double> seconds) {
  std::vector<std::size_t> places(seconds.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return seconds[place]; });
  return places[(places.size() - 1) / 2];
}

std::vector<JudgedIteration> judged_iterations(const Situation& situation) {
  const std::span<const moe::Routing> routings = routings_of(situation);
  const std::span<const Slowdowns> slowdowns =
      slowdowns_of_ranks(situation.costs, situation.groups.ranks);
  std::vector<JudgedIteration> iterations;
  for (std::size_t i = 0; i < std::max(routings.size(), slowdowns.size()); ++i) {
    iterations.push_back({routings[i % routings.size()],
                          slowdowns.empty() ? nullptr : &slowdowns[i % slowdowns.size()]});
  }
  return iterations;
}

std::vector<ProgramCosts> judged_costs(const Situation& situation, const moe::Program& scheduled) {
  const std::vector<JudgedIteration> iterations = judged_iterations(situation);
  std::vector<ProgramCosts> costs;
  for (const moe::Routing& routing : routings_of(situation)) {
    costs.push_back(even_costs(situation, scheduled, routing));
  }
  const std::size_t routings = costs.size();
  while (costs.size() < iterations.size()) costs.push_back(costs[costs.size() % routings]);
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (iterations[i].slowdowns != nullptr) set_slowdowns(*iterations[i].slowdowns, costs[i]);
  }
  return costs;
}

std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Schedule& schedule,
                                           const moe::Program* scheduled) {
  say_trying(situation, "simulates", schedule);
  std::vector<double>* known = nullptr;
  if (situation.memory != nullptr) {
    known = &situation.memory->simulated[moe::decisions_json(schedule)];
    if (!known->empty()) return *known;
  }
  std::optional<moe::Program> applied;
  if (scheduled == nullptr) scheduled = &applied.emplace(moe::apply(situation.program, schedule));
  std::vector<double> seconds;
  for (const ProgramCosts& costs : judged_costs(situation, *scheduled)) {
    seconds.push_back(simulate(*scheduled, costs, situation.costs, situation.cluster).duration_s);
  }
  if (known != nullptr) *known = seconds;
  if (situation.progress != nullptr) situation.progress->found(seconds[median_place(seconds)]);
  return seconds;
}

double simulated_s(const Situation& situation, const moe::Schedule& schedule) {
  const std::vector<double> seconds = simulated_iterations_s(situation, schedule);
  return seconds[median_place(seconds)];
}

double simulated_typical_s(const Situation& situation, const moe::Program& scheduled) {
  const ProgramCosts costs = even_costs(situation, scheduled, situation.routing);
  return simulate(scheduled, costs, situation.costs, situation.cluster).duration_s;
}

Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates) {
  if (situation.progress != nullptr) situation.progress->expect(candidates.size());
  std::vector<double> seconds;
  for (const Candidate& one : candidates) seconds.push_back(simulated_s(situation, one.schedule));
  const auto least = std::ranges::min_element(seconds) - seconds.begin();
  return std::move(candidates[least]);
}

std::vector<int> ranks_of_most_memory(const moe::Program& program, const moe::Groups& groups,
                                      const std::vector<moe::RoutedRows>& layers) {
  const bool all_alike = std::ranges::none_of(program.tensors, [](const moe::Tensor& tensor) {
    return moe::lives_within_iteration(tensor.role) && tensor.rows_are != moe::Rows::fixed &&
           tensor.rows == 0;
  });
  const int in_stage = moe::stage_ranks(groups);
  std::set<int> ranks;  // of the first stage
  if (all_alike) {
    ranks.insert(0);
  } else if (in_stage <= kMostPlannedRanks) {
    for (int rank = 0; rank < in_stage; ++rank) ranks.insert(rank);
  } else {
    std::vector<std::int64_t> in_all(static_cast<std::size_t>(in_stage));
    const auto add_fullest = [&](const std::vector<std::int64_t>& rows) {
      ranks.insert(static_cast<int>(std::ranges::max_element(rows) - rows.begin()));
    };
    std::vector<std::int64_t> rows;  // of a layer; the next has the same, mostly
    const moe::RoutedRows* before = nullptr;
    for (const moe::RoutedRows& layer : layers) {
      if (before == nullptr || !have_same_rows(layer, *before)) {
        rows = moe::rank_tokens(*layer.counts, groups, layer.handling->placement);
        add_fullest(rows);
      }
      before = &layer;
      for (std::size_t rank = 0; rank < rows.size(); ++rank) in_all[rank] += rows[rank];
    }
    add_fullest(in_all);
  }
  std::vector<int> of_all_stages;
  for (int stage = 0; stage < groups.layout.pipeline; ++stage) {
    for (const int rank : ranks) of_all_stages.push_back(stage * in_stage + rank);
  }
  return of_all_stages;
}

std::vector<int> first_of_alike(const std::vector<int>& ranks, const moe::Groups& groups,
                                const std::vector<moe::RoutedRows>& layers,
                                const std::vector<int>& like) {
  std::vector<std::vector<int>> in_layers;
  const moe::RoutedRows* before = nullptr;
  for (const moe::RoutedRows& layer : layers) {
    if (before != nullptr && have_same_rows(layer, *before)) continue;
    before = &layer;
    in_layers.push_back(classes_in_layer(layer, groups));
  }
  std::set<std::vector<int>> seen;
  std::vector<int> first;
  for (const int rank : ranks) {
    std::vector<int> facts{moe::stage_of(groups, rank)};
    if (!like.empty()) facts.push_back(like[rank]);
    for (const std::vector<int>& in_layer : in_layers) {
      facts.push_back(in_layer[rank % moe::stage_ranks(groups)]);
    }
    if (seen.insert(std::move(facts)).second) first.push_back(rank);
  }
  return first;
}

namespace {

std::int64_t of_arena(const PeakBytes& peaks) {
  return peaks[static_cast<std::size_t>(moe::Pool::device)];
}

PeakBytes largest(const StagePeaks& stages) {
  PeakBytes most{};
  for (const PeakBytes& peaks : stages) {
    std::ranges::transform(peaks, most, most.begin(), [](std::int64_t one, std::int64_t other) {
      return std::max(one, other);
    });
  }
  return most;
}

}  // namespace

void plan_memory(const moe::Program& scheduled, const moe::Groups& groups,
                 std::span<const moe::Routing> routings, const VisitPlan& visit) {
  const std::vector<moe::StageProgram> stages = moe::stage_programs(scheduled);
  std::vector<std::unique_ptr<moe::MemoryPlan>> plans;
  for (const moe::StageProgram& stage : stages) {
    plans.push_back(
        std::make_unique<moe::MemoryPlan>(stage.program, moe::start_rule(stage.program)));
  }
  for (const moe::Routing& routing : routings) {
    const moe::AllRoutedRows routed(scheduled, routing);
    const std::vector<int> ranks = ranks_of_most_memory(scheduled, groups, routed.layers());
    std::optional<moe::AllRoutedRows> of_stage;
    int bound = -1;
    for (const int rank : first_of_alike(ranks, groups, routed.layers())) {
      const int stage = moe::stage_of(groups, rank);
      const moe::Program& program = stages[stage].program;
      moe::MemoryPlan& plan = *plans[stage];
      plan.restart();
      plan.advance({});
      if (!plan.is_complete()) {
        if (std::exchange(bound, stage) != stage) of_stage.emplace(program, routing);
        plan.advance(of_stage->bind(groups, rank));
      }
      visit(stage, program, plan);
    }
  }
}

StagePeaks stage_peaks(const moe::Program& scheduled, const moe::Groups& groups,
                       std::span<const moe::Routing> routings) {
  StagePeaks peaks(static_cast<std::size_t>(scheduled.stages), PeakBytes{});
  plan_memory(scheduled, groups, routings,
              [&](int stage, const moe::Program&, const moe::MemoryPlan& plan) {
                for (std::size_t pool = 0; pool < moe::kPoolCount; ++pool) {
                  std::int64_t& peak = peaks[stage][pool];
                  peak = std::max(peak, plan.peak_bytes(static_cast<moe::Pool>(pool)));
                }
              });
  return peaks;
}

PeakBytes planned_peaks(const moe::Program& scheduled, const moe::Groups& groups,
                        std::span<const moe::Routing> routings) {
  return largest(stage_peaks(scheduled, groups, routings));
}

namespace {

/// [stage]: what parameters, their gradients and the states of their optimizer need, which is less
/// than any plan.
std::vector<std::int64_t> parameter_bytes(const moe::Program& program) {
  std::vector<std::int64_t> of_stage(static_cast<std::size_t>(program.stages));
  for (const moe::Parameter& parameter : program.parameters) {
    std::int64_t& bytes = of_stage[parameter.stage];
    const auto add = [&](moe::TensorId tensor) {
      if (tensor >= 0) bytes += moe::allocated_bytes(program.tensors[tensor], {});
    };
    add(parameter.value);
    add(parameter.gradient);
    std::ranges::for_each(parameter.optimizer_state, add);
  }
  return of_stage;
}

/// Those that the situation remembers; else none.
const StagePeaks* known_peaks(const Situation& situation, const moe::Schedule& schedule) {
  say_trying(situation, "plans the memory of", schedule);
  if (situation.memory == nullptr) return nullptr;
  const auto known = situation.memory->peaks.find(moe::decisions_json(schedule));
  return known == situation.memory->peaks.end() ? nullptr : &known->second;
}

StagePeaks new_peaks(const Situation& situation, const moe::Schedule& schedule,
                     const moe::Program& scheduled) {
  StagePeaks peaks = stage_peaks(scheduled, situation.groups, routings_of(situation));
  if (situation.memory != nullptr) {
    situation.memory->peaks.emplace(moe::decisions_json(schedule), peaks);
  }
  return peaks;
}

}  // namespace

PeakBytes planned_peaks(const Situation& situation, const moe::Schedule& schedule,
                        const moe::Program* scheduled) {
  if (const StagePeaks* const known = known_peaks(situation, schedule)) return largest(*known);
  return largest(scheduled != nullptr
                     ? new_peaks(situation, schedule, *scheduled)
                     : new_peaks(situation, schedule, moe::apply(situation.program, schedule)));
}

std::int64_t planned_peak_bytes(const moe::Program& scheduled, const moe::Groups& groups,
                                const moe::Routing& routing) {
  return of_arena(planned_peaks(scheduled, groups, std::span(&routing, 1)));
}

std::int64_t planned_peak_bytes(const Situation& situation, const moe::Schedule& schedule,
                                const moe::Program* scheduled) {
  return of_arena(planned_peaks(situation, schedule, scheduled));
}

std::vector<std::int64_t> excess_bytes(const Situation& situation, const moe::Schedule& schedule,
                                       const moe::Program* scheduled) {
  const std::int64_t limit = situation.cluster.memory_bytes;
  const auto beyond = [&](std::vector<std::int64_t> bytes) {
    for (std::int64_t& one : bytes) one -= limit;
    return bytes;
  };
  const auto of_arenas = [&](const StagePeaks& peaks) {
    std::vector<std::int64_t> bytes;
    std::ranges::transform(peaks, std::back_inserter(bytes), of_arena);
    return beyond(std::move(bytes));
  };
  if (const StagePeaks* const known = known_peaks(situation, schedule)) return of_arenas(*known);
  std::optional<moe::Program> applied;
  if (scheduled == nullptr) scheduled = &applied.emplace(moe::apply(situation.program, schedule));
  std::vector<std::int64_t> of_parameters = parameter_bytes(*scheduled);
  if (std::ranges::max(of_parameters) > limit) return beyond(std::move(of_parameters));
  return of_arenas(new_peaks(situation, schedule, *scheduled));
}

bool fits_memory(const Situation& situation, const moe::Schedule& schedule,
                 const moe::Program* scheduled) {
  return situation.cluster.memory_bytes == 0 ||
         std::ranges::max(excess_bytes(situation, schedule, scheduled)) <= 0;
}

}  // namespace tuner
