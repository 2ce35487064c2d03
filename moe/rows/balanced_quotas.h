#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_slots.h"

namespace moe {

/// [expert][copy of it, as copies_of() names them]: the rows that the copy computes.
using RowQuotas = std::vector<std::vector<std::int64_t>>;

/// The quotas under which the fullest member computes as few rows as these copies allow. `rows`:
/// [expert] rows from all sources. A member gives away only what it has more than that. Quotas are
/// whole rows, and the same on every machine: experts and members are visited in order.
/// [The optimum of the linear program of LPLB and MicroMoE, by augmenting paths]
RowQuotas balanced_quotas(const ExpertSlots& slots, std::span<const std::int64_t> rows);

}  // namespace moe
