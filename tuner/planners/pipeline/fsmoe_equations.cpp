#include "tuner/planners/pipeline/fsmoe_equations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace tuner {
namespace {

void check_chunks(double r) {
  if (!(r >= 1)) throw std::invalid_argument(fmt::format("FSMoE: r = {}: expected 1 or more", r));
}

bool holds(const FsmoeClause& clause, const std::array<double, 7>& margins) {
  return std::all_of(clause.guards.begin(), clause.guards.end(), [&](int guard) {
    return (margins[static_cast<std::size_t>(std::abs(guard)) - 1] > 0) == (guard > 0);
  });
}

}  // namespace

ChunkTimes chunk_times(const MoePhase& phase, double r) {
  check_chunks(r);
  const auto of = [r](const PipelineTask& task) { return task.startup_s + task.volume_s / r; };
  return {of(phase.a2a), of(phase.ag), of(phase.rs), of(phase.exp)};
}

std::array<double, 7> guard_margins(double r, const ChunkTimes& t, double gar_s) {
  check_chunks(r);
  const double inside = t.ag + t.rs, returns = 2 * (r - 1) * t.a2a;
  const double q5 = gar_s - (r * t.exp - returns + inside);
  return {t.a2a - t.ag,
          r * t.exp - returns,
          r * t.exp - (r - 1) * inside,
          gar_s - inside,
          q5,
          gar_s - (r * inside - returns),
          q5};
}

FsmoeCase fsmoe_case(double r, const ChunkTimes& t, double gar_s) {
  const auto margins = guard_margins(r, t, gar_s);
  return std::find_if(kFsmoeClauses.begin(), kFsmoeClauses.end(),
                      [&](const FsmoeClause& clause) { return holds(clause, margins); })
      ->which;
}

double case_seconds(FsmoeCase which, double r, const ChunkTimes& t, double gar_s) {
  check_chunks(r);
  switch (which) {
    case FsmoeCase::gradients:
      return 2 * r * t.a2a + gar_s;
    case FsmoeCase::experts:
      return 2 * t.a2a + t.ag + t.rs + r * t.exp;
    case FsmoeCase::all_to_all:
      return 2 * r * t.a2a + t.ag + t.rs;
    case FsmoeCase::inside_nodes:
      return 2 * t.a2a + r * (t.ag + t.rs);
  }
  throw std::logic_error("case_seconds: no such case");
}

double moe_phase_s(double r, const ChunkTimes& t, double gar_s) {
  return case_seconds(fsmoe_case(r, t, gar_s), r, t, gar_s);
}

double moe_phase_s(double r, const MoePhase& phase) {
  return moe_phase_s(r, chunk_times(phase, r), phase.gar_s);
}

double overlappable_s(double r, const ChunkTimes& t) {
  return moe_phase_s(r, t, 0) - 2 * r * t.a2a;
}

}  // namespace tuner
