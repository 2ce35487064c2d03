#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/program/row_handling.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/planner.h"

/// The cost of a Program in a planner's situation.
namespace tuner {

/// The cost of every op, where loads are even by class of ranks. Throws as program_costs().
ProgramCosts costs_of(const Situation& situation, const moe::Program& program);

/// The time of every op on its slowest rank, with nothing beside it.
std::vector<double> alone_seconds(const Situation& situation, const ProgramCosts& costs);

/// A Program, and the alone_seconds of its ops.
struct TimedProgram {
  moe::Program program;
  std::vector<double> alone_s;
};
/// Throws as moe::apply and costs_of.
TimedProgram timed(const Situation& situation, const moe::Schedule& schedule);

/// An iteration by which schedules are judged.
struct JudgedIteration {
  const moe::Routing& routing;
  const Slowdowns* slowdowns = nullptr;  ///< of the ranks; null: all compute as the fits say
};
/// As many as there are routings_of(situation), or slowdowns of its costs where these are more. The
/// fewer are repeated. Slowdowns of another number of ranks do not count.
std::vector<JudgedIteration> judged_iterations(const Situation& situation);

/// The costs of a scheduled Program in each of judged_iterations(situation). Throws as program_costs().
std::vector<ProgramCosts> judged_costs(const Situation& situation, const moe::Program& scheduled);

/// The index of the median time. Of an even number it is the shorter of the middle two, of equal
/// ones the first. There is at least one.
std::size_t median_place(std::span<const double> seconds);

/// The simulated times under `schedule`, one for each of judged_iterations(situation), unless the
/// situation remembers them. `scheduled`: its Program, where that is there already. Throws as
/// moe::apply and simulate.
std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Schedule& schedule,
                                           const moe::Program* scheduled = nullptr);
/// That of the median iteration.
double simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The simulated time of a scheduled Program with Situation::routing, where all ranks compute as
/// the fits say.
double simulated_typical_s(const Situation& situation, const moe::Program& scheduled);
/// The fastest by simulation (equal times: the first). There is at least one.
Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates);

/// The ranks of which one needs most memory for its arena: one where capacities decide the sizes of
/// all tensors, else all. Of more than 512 ranks of a stage those with most rows, in a layer or in
/// all of them together.
std::vector<int> ranks_of_most_memory(const moe::Program& program, const moe::Groups& groups,
                                      const std::vector<moe::RoutedRows>& layers);

/// The first of all `ranks` that are of one stage, have as many rows in every layer and, where it is
/// given, the same number in `like`: their memory is planned alike.
std::vector<int> first_of_alike(const std::vector<int>& ranks, const moe::Groups& groups,
                                const std::vector<moe::RoutedRows>& layers,
                                const std::vector<int>& like = {});

/// Plans the memory of the ranks that may need most in an iteration of the scheduled Program, under
/// each of the routings, and visits the plans, with the stage and its Program. Throws as
/// moe::planned_peak_bytes.
using VisitPlan = std::function<void(int stage, const moe::Program&, const moe::MemoryPlan&)>;
void plan_memory(const moe::Program& scheduled, const moe::Groups& groups,
                 std::span<const moe::Routing> routings, const VisitPlan& visit);

/// The planned peaks of the stages' ranks in an iteration of the scheduled Program, under any of the
/// routings. Throws as moe::planned_peak_bytes.
StagePeaks stage_peaks(const moe::Program& scheduled, const moe::Groups& groups,
                       std::span<const moe::Routing> routings);
/// [pool]: the largest planned peak of a rank in an iteration of the scheduled Program, under any
/// of the routings. Throws as moe::planned_peak_bytes.
PeakBytes planned_peaks(const moe::Program& scheduled, const moe::Groups& groups,
                        std::span<const moe::Routing> routings);
/// Under any of routings_of(situation), unless the situation remembers them. `scheduled`: the
/// schedule's Program, where that is there already. Throws as moe::apply, too.
PeakBytes planned_peaks(const Situation& situation, const moe::Schedule& schedule,
                        const moe::Program* scheduled = nullptr);

/// Those of a rank's arena.
std::int64_t planned_peak_bytes(const moe::Program& scheduled, const moe::Groups& groups,
                                const moe::Routing& routing);
std::int64_t planned_peak_bytes(const Situation& situation, const moe::Schedule& schedule,
                                const moe::Program* scheduled = nullptr);

/// [stage]: the bytes by which its fullest rank exceeds the memory of a rank under any of
/// routings_of(situation), or, where it has room, less than zero. Where parameters alone exceed it,
/// no memory is planned, and they are what is counted. Throws as planned_peaks.
std::vector<std::int64_t> excess_bytes(const Situation& situation, const moe::Schedule& schedule,
                                       const moe::Program* scheduled = nullptr);

/// True where the schedule's planned peak fits the memory of a rank under every one of
/// routings_of(situation), or that memory is unknown (0). Throws as planned_peaks.
bool fits_memory(const Situation& situation, const moe::Schedule& schedule,
                 const moe::Program* scheduled = nullptr);

}  // namespace tuner
