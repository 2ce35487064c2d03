#pragma once

#include <cstdint>
#include <vector>

#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/planner.h"

/// The cost of a Program in a planner's situation.
namespace tuner {

/// The cost of every op. Throws as op_costs.
std::vector<OpCost> costs_of(const Situation& situation, const moe::Program& program);

/// The time of every op on its slowest rank, with nothing beside it.
std::vector<double> alone_seconds(const Situation& situation, const std::vector<OpCost>& costs);

/// The simulated time of an iteration under `schedule`. Throws as moe::apply and simulate.
double simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The time of an iteration, measured where the situation can, else simulated.
double measured_or_simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The simulated time of a scheduled Program.
double simulated_program_s(const Situation& situation, const moe::Program& scheduled);
/// The fastest by simulation (equal times: the first). There is at least one.
Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates);

/// The largest planned peak of a rank's arena in an iteration of the scheduled Program. Throws as
/// moe::planned_peak_bytes.
std::int64_t planned_peak_bytes(const moe::Program& program, const moe::Groups& groups,
                                const moe::Routing& routing, moe::Pool pool = moe::Pool::device);

/// True where the scheduled Program's planned peak fits the memory of a rank, or that is unknown
/// (0).
bool fits_memory(const Situation& situation, const moe::Program& scheduled);

}  // namespace tuner
