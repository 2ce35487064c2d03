#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "moe/program/row_handling.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/planner.h"

/// The cost of a Program in a planner's situation.
namespace tuner {

/// The cost of every op, where loads are even by class of ranks. Throws as program_costs().
ProgramCosts costs_of(const Situation& situation, const moe::Program& program);
/// The same by rank.
ProgramCosts rank_costs_of(const Situation& situation, const moe::Program& program);

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

/// The time of every op on its slowest rank, with nothing beside it.
std::vector<double> alone_seconds(const Situation& situation, const ProgramCosts& costs);

/// The index of the median time. Of an even number it is the shorter of the middle two, of equal
/// ones the first. There is at least one.
std::size_t median_place(std::span<const double> seconds);

/// The simulated times of a scheduled Program, one for each of judged_iterations(situation).
std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Program& scheduled);
/// The same under `schedule`, unless the situation remembers them. Throws as moe::apply.
std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Schedule& schedule);
/// The same where its Program is there already.
std::vector<double> simulated_iterations_s(const Situation& situation,
                                           const moe::Schedule& schedule,
                                           const moe::Program& scheduled);
/// The simulated time of the median iteration under `schedule`. Throws as moe::apply and simulate.
double simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The time of an iteration, measured where the situation can measure, else simulated.
double measured_or_simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The simulated time of a scheduled Program with Situation::routing, where all ranks compute as
/// the fits say.
double simulated_typical_s(const Situation& situation, const moe::Program& scheduled);
/// The simulated time of the median iteration of a scheduled Program.
double simulated_program_s(const Situation& situation, const moe::Program& scheduled);
/// The fastest by simulation (equal times: the first). There is at least one.
Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates);

/// The ranks of which one needs most memory for its arena: one where capacities decide the sizes of
/// all tensors, else all. Of more than 512 ranks of a stage those with most rows, in a layer or in
/// all of them together.
std::vector<int> ranks_of_most_memory(const moe::Program& program, const moe::Groups& groups,
                                      const std::vector<moe::RoutedRows>& layers);

/// [pool]: the largest planned peak of a rank in an iteration of the scheduled Program, under any
/// of routings_of(situation). Throws as moe::planned_peak_bytes.
using PeakBytes = std::array<std::int64_t, moe::kPoolCount>;
PeakBytes planned_peaks(const Situation& situation, const moe::Program& scheduled);

/// The largest planned peak of a rank's arena in an iteration of the scheduled Program. Throws as
/// moe::planned_peak_bytes.
std::int64_t planned_peak_bytes(const moe::Program& program, const moe::Groups& groups,
                                const moe::Routing& routing, moe::Pool pool = moe::Pool::device);

/// The largest planned peak under any of routings_of(situation).
std::int64_t planned_peak_bytes(const Situation& situation, const moe::Program& scheduled,
                                moe::Pool pool = moe::Pool::device);

/// True where the scheduled Program's planned peak fits the memory of a rank under every one of
/// routings_of(situation), or that memory is unknown (0).
bool fits_memory(const Situation& situation, const moe::Program& scheduled);

}  // namespace tuner
