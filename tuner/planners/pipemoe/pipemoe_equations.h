#pragma once

#include "tuner/costs/fit.h"

namespace tuner {

/// Time of one phase of one MoE layer whose exchange and experts are cut into r chunks, with t_a2a
/// the time of one chunk's all-to-all and t_exp that of one chunk's experts.
///   case 2:  2 t_a2a + r t_exp   where  r t_exp > 2 (r - 1) t_a2a   (Q2)
///   case 3:  2 r t_a2a           otherwise
///         [FSMoE Eq. 2 and following, printed, with t_ag = t_rs = t_gar = 0, as PipeMoE has no
///          intra-node collectives and reduces gradients apart; then Q1 holds]
/// For r = 1 it is the sum of the three. Throws std::invalid_argument if r < 1.
double pipelined_layer_s(int r, double t_a2a, double t_exp);

/// The same with t_x = alpha_x + n_x / r beta_x                        [FSMoE Eq. 1, printed]
/// n_a2a, n_exp = bytes and flops of the whole layer. `gemms` = products that one chunk's experts
/// consist of: alpha counts once for each.
double pipelined_layer_s(int r, const LinearFit& a2a, double n_a2a, const LinearFit& exp,
                         double n_exp, int gemms);

}  // namespace tuner
