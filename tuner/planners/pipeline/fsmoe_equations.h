#pragma once

#include <array>
#include <cstdint>

#include "tuner/costs/fit.h"

/// One phase of one MoE layer that is cut into r chunks [FSMoE 4]. The paper's symbols: a2a
/// all-to-all, ag the all-gather and rs the reduce-scatter of ranks that share experts (ESP), exp
/// the experts, gar the all-reduce of gradients behind the last dispatch. Any one unit of time.
namespace tuner {

/// What a task of a phase takes uncut: alpha, and n beta.
struct PipelineTask {
  double startup_s = 0;
  double volume_s = 0;
};

/// n units of work by a fitted line, alpha and beta counted `gemms` times where they are those of
/// one product.
PipelineTask pipeline_task(const LinearFit& fit, double n, int gemms = 1);

/// Backward works out two gradients where forward has one product: alpha and n beta double. [FSMoE
/// 4.4; the text doubles alpha, beta and n, which is four-fold; twice is the authors' code]
PipelineTask backward_experts(const PipelineTask& forward);

struct MoePhase {
  PipelineTask a2a, ag, rs, exp;
  double gar_s = 0;  ///< 0 in forward
};

/// Elements that travel, and multiply-adds of one product, for a layer of B samples of L tokens and
/// width M, experts of hidden width H, k experts a token, capacity factor f, N_ESP = N_MP = shards.
///   n_a2a = k f B L M / N_ESP, n_ag = n_rs = k f B L M, n_exp = k f B L M H / N_ESP  [FSMoE, code]
/// One expert a member of an expert group, so that their number cancels.
struct MessageSizes {
  double a2a = 0;
  double ag = 0;  ///< and rs
  double exp = 0;
};
MessageSizes message_sizes(double k, double f, double B, double L, double M, double H, int shards);

/// Elements of the gradients of a layer outside its experts. [FSMoE, code]
///   GPT 4 M^2 / N_MP + 3 M / N_MP + M, Mixtral 2.5 M^2 / N_MP
double gpt_dense_gradients(double M, int shards);
double mixtral_dense_gradients(double M, int shards);

/// Times of one chunk.
struct ChunkTimes {
  double a2a = 0, ag = 0, rs = 0, exp = 0;
};
/// t_x = alpha_x + n_x / r beta_x [FSMoE Eq. 1, printed] Throws std::invalid_argument unless r >=
/// 1, as all that follow do.
ChunkTimes chunk_times(const MoePhase& phase, double r);

/// Which of four takes the time: what crosses nodes and the gradients, the experts, the all-to-all
/// alone, what stays inside nodes. [FSMoE Fig. 4]
enum class FsmoeCase : std::uint8_t { gradients = 1, experts, all_to_all, inside_nodes };

/// By how much the conditions Q1 .. Q7 hold; one that is not above 0 does not. [FSMoE 4.2, printed]
///   Q1 t_a2a - t_ag                        Q2 r t_exp - 2 (r-1) t_a2a     Q3 r t_exp - (r-1) (t_ag + t_rs)
///   Q4 t_gar - (t_ag + t_rs)               Q5 t_gar - (r t_exp - 2 (r-1) t_a2a + t_ag + t_rs)
///   Q6 t_gar - (r t_ag + r t_rs - 2 (r-1) t_a2a)                          Q7 as Q5
std::array<double, 7> guard_margins(double r, const ChunkTimes& t, double gar_s);

/// A case holds where all guards of one of its clauses do: +q for Qq, -q for not Qq. [FSMoE 4.2,
/// printed] For every r exactly one of the clauses holds.
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

/// Time of a phase in a case, whether it holds or not. [FSMoE Eq. 2 and following, printed]
///   1: 2 r t_a2a + t_gar       2: 2 t_a2a + t_ag + t_rs + r t_exp
///   3: 2 r t_a2a + t_ag + t_rs     4: 2 t_a2a + r (t_ag + t_rs)
/// Each is a chain that no order of launches can shorten, so that none exceeds replay_s
/// (fsmoe_replay.h).
double case_seconds(FsmoeCase which, double r, const ChunkTimes& t, double gar_s);
/// In the case that holds.
double moe_phase_s(double r, const ChunkTimes& t, double gar_s);
double moe_phase_s(double r, const MoePhase& phase);

/// How long the inter-node stream is idle between dispatch and combine where no gradient is reduced
/// there.
///   case 2: r t_exp + t_ag + t_rs - 2 (r-1) t_a2a    3: t_ag + t_rs    4: r (t_ag + t_rs) - 2 (r-1) t_a2a
///                                                                                       [FSMoE 5.2, printed]
double overlappable_s(double r, const ChunkTimes& t);

}  // namespace tuner
