#pragma once

#include <cstdint>
#include <span>

#include "moe/rows/balanced_quotas.h"

namespace moe {

/// Quotas as balanced_quotas, from LPLB's own solver, which stops near the optimum. [LPLB, code;
/// facts alone] Members that replicated experts join are a group, and each group is a linear program
/// of its own:
///   minimise t  subject to  for every member:  f + sum of w x over its copies + slack = t,
///                           for every expert of several copies:  sum of x = 1,  all >= 0
/// f = rows of experts of one copy, w = rows of the others, over those of the group's fullest member
/// at home; x = share of a copy. Five steps of affine scaling from all ones,
///   d = X (c - A^T (A X^2 A^T)^-1 A X^2 c),  x <- x (1 - 0.999 d / max d),
/// with one more variable of cost 1000 that makes that start feasible. Where the last max d is not
/// below 0.1, that variable not below 1e-4, or a constraint is not met within 0.05, all copies of an
/// expert get equal shares. [ours: any number of copies, shares made to add up to one, no further
/// step where max d is below 1e-9] The same on every rank of one build of the program: it computes
/// in doubles, in one order.
RowQuotas interior_point_quotas(const ExpertSlots& slots, std::span<const std::int64_t> rows);

}  // namespace moe
