#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tuner/costs/fit.h"

/// Shares the all-reduce of gradients out over backward [FSMoE 5]. Sizes are in the units of the
/// all-reduce's fit.
namespace tuner {

/// A stretch of the backward phase, in the order of backward. FSMoE's generalized layer is one or
/// more.
struct BackwardPart {
  double overlappable_s = 0;  ///< how long it leaves the all-reduce's stream idle
  double gradients = 0;       ///< gradients that exist from its end on
};

/// The size given to each part, and the size left for after backward.
struct GradientShares {
  std::vector<double> given;
  double left = 0;
};

/// Step 1: every part all-reduces as much of the gradients that exist as it hides, and carries the
/// rest on.
///   n_first_i = g_inv(min(t_grad(n_{i-1}), t_olp_i)),  n_i = n_i + n_{i-1} - n_first_i
///                                                                     [FSMoE Eqs. 3, 4, printed]
/// t_grad(n) = alpha + n beta. g_inv is its inverse, 0 where alpha alone takes longer than the part
/// hides. Slip: Eq. 4 as printed carries g_inv(max(t_grad - t_olp, 0)) on, which is alpha / beta
/// too little.
GradientShares fill_overlappable(std::span<const BackwardPart> parts, const LinearFit& all_reduce);

/// Step 2: the rest is shared among the parts for the least of
///   sum_i seconds(i, x_i) + left_seconds(total - sum_i x_i),
///   sum_{j<=i} x_j <= most_until_i   for every i
///     [FSMoE Eq. 5, reconstructed: the printed indices cannot be right; x < the gradients left]
struct GradientRest {
  std::function<double(int part, double size)> seconds;
  std::function<double(double size)> left_seconds;  ///< after backward, where nothing hides it
  std::vector<double> most_until;                   ///< [part]: how much of the rest exists by then
  double total = 0;
};

/// The gradients that step 1 left, and how much of them exists by each part. None is all-reduced
/// before it exists, and the shares of later parts from step 1 must still be there. The caller
/// fills in the functions.
GradientRest rest_after(std::span<const BackwardPart> parts, const GradientShares& first);

/// The exact optimum over multiples of total / quanta, in O(parts quanta^2) and parts times quanta
/// evaluations. Ours; the paper uses evolution. Throws std::invalid_argument if quanta < 1.
GradientShares share_exactly(const GradientRest& rest, int quanta);

}  // namespace tuner
