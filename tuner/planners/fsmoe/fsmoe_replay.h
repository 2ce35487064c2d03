#pragma once

#include "tuner/planners/pipeline/fsmoe_equations.h"

namespace tuner {

/// The time of FSMoE's launch order, event by event. Three streams work off their queues in order,
/// and a task waits for the task of its chunk before it. [FSMoE, code]
///   inter-node  D_1 .. D_r, the gradients, C_1 .. C_r      intra-node  AG_1 .. AG_r, RS_1 .. RS_r
///   compute     E_1 .. E_r                                 chunk i     D_i, AG_i, E_i, RS_i, C_i
/// It is never below moe_phase_s. Throws std::invalid_argument if r < 1.
double replay_s(int r, const ChunkTimes& t, double gar_s);

/// The same with one stream for all communication: D_1, AG_1, .. D_r, AG_r, the gradients, RS_1,
/// C_1, .. RS_r, C_r. [FSMoE-No-IIO and Tutel, code]
double replay_on_one_stream_s(int r, const ChunkTimes& t, double gar_s);

}  // namespace tuner
