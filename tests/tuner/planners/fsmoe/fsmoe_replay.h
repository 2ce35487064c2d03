#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tuner/planners/fsmoe/fsmoe.h"
#include "tuner/planners/pipeline/fsmoe_equations.h"

namespace tuner::test {

/// A queue of tasks on one stream: each starts when it is ready and the one before it has ended.
struct TaskQueue {
  double idle_from = 0;
  double run(double ready, double seconds) {
    return idle_from = std::max(ready, idle_from) + seconds;
  }
};

inline double replay_on(TaskQueue& inter, TaskQueue& intra, int r, const ChunkTimes& t,
                        double gar_s) {
  if (r < 1) throw std::invalid_argument(fmt::format("replay: r = {}: expected 1 or more", r));
  TaskQueue compute;
  std::vector<double> gathered;
  for (int i = 0; i < r; ++i) gathered.push_back(intra.run(inter.run(0, t.a2a), t.ag));
  inter.run(0, gar_s);
  double end = 0;
  for (const double ready : gathered) {
    end = inter.run(intra.run(compute.run(ready, t.exp), t.rs), t.a2a);
  }
  return end;
}

/// The time of FSMoE's launch order, event by event. Three streams work off their queues in order,
/// and a task waits for the task of its chunk before it. [FSMoE, code]
///   inter-node  D_1 .. D_r, the gradients, C_1 .. C_r      intra-node  AG_1 .. AG_r, RS_1 .. RS_r
///   compute     E_1 .. E_r                                 chunk i     D_i, AG_i, E_i, RS_i, C_i
/// It is never below moe_phase_s. Throws std::invalid_argument if r < 1.
inline double replay_s(int r, const ChunkTimes& t, double gar_s) {
  TaskQueue inter, intra;
  return replay_on(inter, intra, r, t, gar_s);
}

/// The same with one stream for all communication: D_1, AG_1, .. D_r, AG_r, the gradients, RS_1,
/// C_1, .. RS_r, C_r. [FSMoE-No-IIO and Tutel, code]
inline double replay_on_one_stream_s(int r, const ChunkTimes& t, double gar_s) {
  TaskQueue one;
  return replay_on(one, one, r, t, gar_s);
}

/// The best degree by replay_s, of all from 1 to most.
inline ChosenDegree degree_by_replay(const MoePhase& phase, int most) {
  return best_degree(most, [&](int r) { return replay_s(r, chunk_times(phase, r), phase.gar_s); });
}

}  // namespace tuner::test
