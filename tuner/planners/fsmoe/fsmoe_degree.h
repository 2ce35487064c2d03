#pragma once

#include <functional>

#include "tuner/planners/pipeline/fsmoe_equations.h"

namespace tuner {

/// A number of chunks, and the time of a phase with it.
struct ChosenDegree {
  int chunks = 1;
  double seconds = 0;
};

/// The best of 1 .. most by `seconds_of`. Equal times: the fewest chunks. Throws
/// std::invalid_argument if most < 1, as all functions here.
ChosenDegree best_degree(int most, const std::function<double(int)>& seconds_of);

/// FSMoE's Algorithm 1. SLSQP (NLopt) finds the least time of each case over real r within its
/// guards. It starts from both ends of 1 .. most and takes one clause at a time, as all conditions
/// of SLSQP must hold. The best case's r is rounded down or up, whichever moe_phase_s prefers.
/// [FSMoE Alg. 1, printed; the authors' code rounds to 1, 2, 4 or 8]
ChosenDegree degree_by_slsqp(const MoePhase& phase, int most);

/// The best degree by moe_phase_s, and by replay_s, of all from 1 to most.
ChosenDegree degree_by_equations(const MoePhase& phase, int most);
ChosenDegree degree_by_replay(const MoePhase& phase, int most);

}  // namespace tuner
