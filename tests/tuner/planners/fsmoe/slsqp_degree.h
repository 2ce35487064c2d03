#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlopt.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tuner/planners/fsmoe/fsmoe.h"

/// The paper's way to the degree that the planner finds by trying all.
namespace tuner::test {

inline constexpr double kWithin = 1e-6;  ///< tolerance of the guards, as a share of the uncut phase

struct Optimum {
  double chunks = 1;
  double seconds = std::numeric_limits<double>::infinity();
};

/// One clause of a case as SLSQP sees it: functions of r, to be least or not above 0.
struct Solve {
  const MoePhase& phase;
  const FsmoeClause& clause;
  double unit_s;  ///< the time of the uncut phase, so that all values are about 1
  double most;

  double seconds(double r) const {
    return case_seconds(clause.which, r, chunk_times(phase, r), phase.gar_s) / unit_s;
  }
  double violation(double r, int guard) const {
    const auto margins = guard_margins(r, chunk_times(phase, r), phase.gar_s);
    const double margin = margins[static_cast<std::size_t>(std::abs(guard)) - 1] / unit_s;
    return guard > 0 ? -margin : margin;
  }
  /// The value, and the slope by a difference that stays within 1 .. most.
  template <class Function>
  double with_slope(double r, std::vector<double>& slope, Function function) const {
    if (!std::isfinite(r)) throw nlopt::forced_stop();  // a step of 0 / 0, where all is level
    const double value = function(r);
    if (!slope.empty()) {
      const double step = r + 1e-7 <= most ? 1e-7 : -1e-7;
      slope[0] = (function(r + step) - value) / step;
    }
    return value;
  }
};

struct Guard {
  const Solve* solve;
  int guard;
};

inline std::optional<Optimum> least_of_clause(const Solve& solve, double from) {
  nlopt::opt optimizer(nlopt::LD_SLSQP, 1);
  optimizer.set_lower_bounds(1.0);
  optimizer.set_upper_bounds(solve.most);
  optimizer.set_xtol_rel(1e-6);
  optimizer.set_maxeval(60);
  optimizer.set_min_objective(
      [](const std::vector<double>& x, std::vector<double>& slope, void* data) {
        const auto& one = *static_cast<const Solve*>(data);
        return one.with_slope(x[0], slope, [&](double r) { return one.seconds(r); });
      },
      const_cast<Solve*>(&solve));
  std::array<Guard, 3> guards;
  for (std::size_t i = 0; i < guards.size(); ++i) {
    guards[i] = {&solve, solve.clause.guards[i]};
    optimizer.add_inequality_constraint(
        [](const std::vector<double>& x, std::vector<double>& slope, void* data) {
          const auto& one = *static_cast<const Guard*>(data);
          return one.solve->with_slope(
              x[0], slope, [&](double r) { return one.solve->violation(r, one.guard); });
        },
        &guards[i], 1e-9);
  }
  std::vector<double> x{from};
  double least = 0;
  try {
    optimizer.optimize(x, least);
  } catch (const nlopt::roundoff_limited&) {  // x is as good as it gets
  } catch (const nlopt::forced_stop&) {       // with_slope was given no number
    return std::nullopt;
  } catch (const std::runtime_error&) {
    // FAILURE: SLSQP finds no point within the guards. Otherwise, a function that it called threw.
    if (optimizer.last_optimize_result() != nlopt::FAILURE) throw;
    return std::nullopt;
  }
  const bool within = std::all_of(guards.begin(), guards.end(), [&](const Guard& one) {
    return solve.violation(x[0], one.guard) <= kWithin;
  });
  if (!within) return std::nullopt;
  return Optimum{x[0], solve.seconds(x[0]) * solve.unit_s};
}

/// FSMoE's Algorithm 1. SLSQP (NLopt) finds the least time of each case over real r within its
/// guards. It starts from both ends of 1 .. most and takes one clause at a time, as all conditions
/// of SLSQP must hold. The best case's r is rounded down or up, whichever moe_phase_s prefers.
/// [FSMoE Alg. 1, printed; the authors' code rounds to 1, 2, 4 or 8]
inline ChosenDegree degree_by_slsqp(const MoePhase& phase, int most) {
  const double whole_s = moe_phase_s(1, phase);
  if (most == 1 || !(whole_s > 0)) return {1, whole_s};
  Optimum best;
  for (const FsmoeClause& clause : kFsmoeClauses) {
    const Solve solve{phase, clause, whole_s, static_cast<double>(most)};
    for (const double from : {1.0, solve.most}) {
      const auto found = least_of_clause(solve, from);
      if (found && found->seconds < best.seconds) best = *found;
    }
  }
  ChosenDegree chosen{1, std::numeric_limits<double>::infinity()};
  for (const double rounded : {std::floor(best.chunks), std::ceil(best.chunks)}) {
    const int chunks = std::clamp(static_cast<int>(rounded), 1, most);
    if (const double seconds = moe_phase_s(chunks, phase); seconds < chosen.seconds) {
      chosen = {chunks, seconds};
    }
  }
  return chosen;
}

}  // namespace tuner::test
