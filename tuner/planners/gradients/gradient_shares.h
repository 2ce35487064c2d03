#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tuner/costs/fit.h"

/// Where in backward the gradients are all-reduced [FSMoE 5]. Sizes are in the units of the
/// all-reduce's fit.
namespace tuner {

/// A stretch of the backward phase. They stand in the order of backward; FSMoE's generalized layer
/// is one or more.
struct BackwardPart {
  double overlappable_s = 0;  ///< for so long it leaves the stream of the all-reduce idle
  double gradients = 0;       ///< that exist from its end on
};

/// Sizes given to each part, and what is left for after backward.
struct GradientShares {
  std::vector<double> given;
  double left = 0;
};

/// Step 1: every part reduces as much of what exists as it hides, and carries the rest on.
///   n_first_i = g_inv(min(t_grad(n_{i-1}), t_olp_i)),  n_i = n_i + n_{i-1} - n_first_i     [FSMoE Eqs. 3, 4, printed]
/// t_grad(n) = alpha + n beta and g_inv its inverse, nothing where alpha alone takes longer than
/// the part hides. Slip: Eq. 4 as printed carries g_inv(max(t_grad - t_olp, 0)) on, alpha / beta
/// less than what was not reduced.
GradientShares fill_overlappable(std::span<const BackwardPart> parts, const LinearFit& all_reduce);

/// Step 2: what is left is shared among the parts for the least of
///   sum_i seconds(i, x_i) + left_seconds(total - sum_i x_i),   sum_{j<=i} x_j <= most_until_i   for every i
///         [FSMoE Eq. 5, reconstructed: the printed indices cannot be; x < all that exists and has not been reduced]
struct GradientRest {
  std::function<double(int part, double size)> seconds;
  std::function<double(double size)> left_seconds;  ///< after backward, with nothing to hide behind
  std::vector<double> most_until;                   ///< of the rest, by part
  double total = 0;
};

/// What step 1 left of the gradients, and of them how much exists by each part: none may be reduced
/// before it does, and what step 1 gave to later parts must still be there. The functions are the
/// caller's to fill in.
GradientRest rest_after(std::span<const BackwardPart> parts, const GradientShares& first);

struct SharedRest {
  GradientShares shares;
  double seconds = 0;
};

/// The exact optimum over multiples of total / quanta. O(parts quanta^2), and parts times quanta
/// evaluations. Ours; the paper evolves. Throws std::invalid_argument if quanta < 1.
SharedRest share_exactly(const GradientRest& rest, int quanta);

/// By an evolution strategy with differential variation (NLopt's ISRES; the paper uses differential
/// evolution) over what each part takes of all that it may. The same for the same seed,
/// `evaluations` of the sum.
SharedRest share_by_evolution(const GradientRest& rest, int evaluations, unsigned seed);

}  // namespace tuner
