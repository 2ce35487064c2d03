#pragma once

#include "moe/program/op.h"
#include "tuner/costs/interference.h"
#include "tuner/planners/situation/planner.h"

/// The time of n partitions in a pipeline of communication, computation and copies. [MPMoE 4.2,
/// Fig. 8]
namespace tuner::mpmoe {

/// The seconds of one partition's tasks with nothing beside them.
struct PartitionTimes {
  double send = 0, compute = 0, back = 0;  ///< S, C, R
  double copy = 0;                         ///< M: all its copies
  /// The copies among them whose source has one buffer: the next partition's C waits for them. Not
  /// in the paper: its Eq. 5 counts one buffer of T_M, but its figure copies it beside the next C.
  double waited_copy = 0;
  /// The part of C that comes after such a source, and runs beside its copy.
  double beside_waited = 0;
  /// The part of C that R does not wait for: weight gradients. Not in the paper.
  double trailing = 0;
};

/// The time of a phase of a pipeline: that of its busiest stream.
///   max(comm / alpha(comm, others), comp / alpha(comp, others), mem / alpha(mem, others))
/// `others` are the other streams with any work, alpha(y, x) the speed of y while x runs, in (0, 1]. [for P2 in paradigm 1 printed: max((t_S +
/// t_R)/alpha(comm,comp), t_C/alpha(comp,comm))]
double phase_s(const Interference& interference, double comm, double comp, double mem);

/// The times of copies. Paradigm 1 has none, 2 makes them after their source (forward), 3 before
/// the C that needs them (backward).
enum class Copies { after, ahead };

/// A layer's pipeline of n partitions, in the order S0 S1 C0 R0 S2 C1 R1 ...:
///   P0            S_0                            (ahead: beside M_0)
///   P1            S_1 beside C_0                 (and M)
///   P2, n-2 times R_i, S_(i+2) beside C_(i+1)    (and M)
///   P3            R_(n-2) beside C_(n-1)         (after: and M)
///   P4            R_(n-1)                        (after: beside the last copy)
/// For n = 1 S, C, R run one after another. [The phases are printed as words, their times are lost:
/// reconstructed from the order; paradigm 1 is either one without copies.] Throws
/// std::invalid_argument if n < 1.
double pipeline_s(const Interference& interference, Copies copies, int n,
                  const PartitionTimes& times);

/// The closed form of an iteration: pipeline_s for every phase of every MoE layer, with the means
/// of its partitions' times (each op on its slowest rank), and all else op after op.
double modelled_iteration_s(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner::mpmoe
