#pragma once

#include <cstdint>
#include <vector>

#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/planner.h"

/// What a Program costs in a planner's situation.
namespace tuner {

/// Of every op. Throws as op_costs.
std::vector<OpCost> costs_of(const Situation& situation, const moe::Program& program);

/// Of every op, on its slowest rank with nothing beside it.
std::vector<double> alone_seconds(const Situation& situation, const std::vector<OpCost>& costs);

/// Of an iteration under `schedule`, simulated. Throws as moe::apply and simulate.
double simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// Measured where the situation can measure, else simulated.
double measured_or_simulated_s(const Situation& situation, const moe::Schedule& schedule);
/// The same of a scheduled Program.
double simulated_program_s(const Situation& situation, const moe::Program& scheduled);
/// The fastest by simulation, of equals the first. There is at least one.
Candidate fastest_simulated(const Situation& situation, std::vector<Candidate> candidates);

/// The highest that any rank's arena reaches in an iteration of the scheduled Program. Throws as
/// moe::planned_peak_bytes.
std::int64_t planned_peak_bytes(const moe::Program& program, const moe::Groups& groups,
                                const moe::Routing& routing, moe::Pool pool = moe::Pool::device);

/// True where the scheduled Program's planned peak is within the cluster's memory of a rank, or
/// that is not known (0).
bool fits_memory(const Situation& situation, const moe::Program& scheduled);

}  // namespace tuner
