#pragma once

#include <array>
#include <cstdint>

/// One phase of one MoE layer that is cut into r chunks [FSMoE 4]. The paper's symbols: a2a is the
/// all-to-all, ag the all-gather and rs the reduce-scatter of ranks that share experts (ESP), exp
/// the experts, gar the all-reduce of gradients after the last dispatch. All times have one unit.
namespace tuner {

/// The time of a task of a phase that is not cut: alpha + n beta.
struct PipelineTask {
  double startup_s = 0;
  double volume_s = 0;
};

struct MoePhase {
  PipelineTask a2a, ag, rs, exp;
  double gar_s = 0;  ///< 0 in forward
};

/// Times of one chunk.
struct ChunkTimes {
  double a2a = 0, ag = 0, rs = 0, exp = 0;
};
///   t_x = alpha_x + n_x / r beta_x                                         [FSMoE Eq. 1, printed]
/// Throws std::invalid_argument unless r >= 1, as all functions below.
ChunkTimes chunk_times(const MoePhase& phase, double r);

/// The resource that takes the time of a phase: communication between nodes with the gradients, the
/// experts, the all-to-all alone, or communication inside nodes.                   [FSMoE Fig. 4]
enum class FsmoeCase : std::uint8_t { gradients = 1, experts, all_to_all, inside_nodes };

/// The margins of the conditions Q1 .. Q7; a condition holds where its margin is above 0.
///                                                                        [FSMoE 4.2, printed]
///   Q1 t_a2a - t_ag
///   Q2 r t_exp - 2 (r-1) t_a2a
///   Q3 r t_exp - (r-1) (t_ag + t_rs)
///   Q4 t_gar - (t_ag + t_rs)
///   Q5 t_gar - (r t_exp - 2 (r-1) t_a2a + t_ag + t_rs)
///   Q6 t_gar - (r t_ag + r t_rs - 2 (r-1) t_a2a)
///   Q7 as Q5
std::array<double, 7> guard_margins(double r, const ChunkTimes& t, double gar_s);

/// A case holds where all guards of one of its clauses hold: +q means Qq, -q means not Qq. For
/// every r exactly one of the clauses holds.                               [FSMoE 4.2, printed]
struct FsmoeClause {
  FsmoeCase which;
  std::array<int, 3> guards;
};
inline constexpr std::array<FsmoeClause, 8> kFsmoeClauses{{
    {FsmoeCase::gradients, {1, -2, 4}},
    {FsmoeCase::gradients, {1, 2, 5}},
    {FsmoeCase::gradients, {-1, -3, 6}},
    {FsmoeCase::gradients, {-1, 3, 7}},
    {FsmoeCase::experts, {1, 2, -5}},
    {FsmoeCase::experts, {-1, 3, -7}},
    {FsmoeCase::all_to_all, {1, -2, -4}},
    {FsmoeCase::inside_nodes, {-1, -3, -6}},
}};
FsmoeCase fsmoe_case(double r, const ChunkTimes& t, double gar_s);

/// The time of a phase in a case, whether that case holds or not.  [FSMoE Eq. 2 and following,
/// printed]
///   1: 2 r t_a2a + t_gar       2: 2 t_a2a + t_ag + t_rs + r t_exp
///   3: 2 r t_a2a + t_ag + t_rs     4: 2 t_a2a + r (t_ag + t_rs)
/// Each is a chain that no order of launches can shorten.
double case_seconds(FsmoeCase which, double r, const ChunkTimes& t, double gar_s);
/// The time in the case that holds.
double moe_phase_s(double r, const ChunkTimes& t, double gar_s);
double moe_phase_s(double r, const MoePhase& phase);

/// The idle time of the inter-node stream between dispatch and combine if no gradient is
/// all-reduced there.                                                        [FSMoE 5.2, printed]
///   case 2: r t_exp + t_ag + t_rs - 2 (r-1) t_a2a
///   case 3: t_ag + t_rs
///   case 4: r (t_ag + t_rs) - 2 (r-1) t_a2a
double overlappable_s(double r, const ChunkTimes& t);

}  // namespace tuner
