#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/late_copies.h"

namespace moe {

/// The rows of one expert that a member computes.
struct MemberRows {
  int member = 0;
  std::int64_t rows = 0;
};
/// [expert]: who computes its rows; the home first, then other members ascending, each with rows.
using LatePlan = std::vector<std::vector<MemberRows>>;

/// `rows`: [expert] rows from all sources; `homes`: [expert], from 0 to `members` - 1. Every
/// expert's rows are computed once, and no member holds more than LateCopies::slots replicas. It is
/// the same on every machine. [ours] moonep and llep move no rows to a member without a free slot,
/// so that both are bounded.
LatePlan late_plan(const LateCopies& copies, std::span<const std::int64_t> rows,
                   std::span<const int> homes, int members);
/// The same in the domains of LateCopies. `nodes`: [member].
LatePlan late_plan_in_domains(const LateCopies& copies, std::span<const std::int64_t> rows,
                              std::span<const int> homes, std::span<const int> nodes);

}  // namespace moe
