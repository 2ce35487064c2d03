#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "db/records.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// [expert]: token copies from all source ranks.
std::vector<std::int64_t> expert_tokens(const LayerRouting& routing);

/// [rank in the layer's pipeline stage]: token copies whose expert the rank computes, or its share of the expert: where ranks share
/// experts, all that share one compute each of its tokens.
/// Experts are where they belong, and where they are placed beside.
std::vector<std::int64_t> rank_tokens(const LayerRouting& routing, const Groups& groups,
                                      const ExpertPlacement& placement = {});

/// a.b / (|a| |b|): how alike two distributions of tokens over experts are, 1 where they are the same up to a
/// factor, 0 where they have no expert in common. None where either is all zero or they differ in length.
std::optional<double> cosine_similarity(std::span<const std::int64_t> a,
                                        std::span<const std::int64_t> b);

/// How even one layer's loads are, without run and iteration. `before` is expert_tokens() of the iteration
/// before, empty where there is none. The standard deviation over experts is Pro-Prophet's balance degree
/// ("the standard deviation of the input distribution tensor", VI); that loads of neighbouring iterations are
/// alike it calls locality, and gives no measure of it: here it is their cosine similarity. `placement`: of the layer's
/// experts in that iteration, for the balance of what ranks computed.
db::Balance balance_of(const LayerRouting& routing, const Groups& groups,
                       std::span<const std::int64_t> before, const ExpertPlacement& placement = {});

}  // namespace moe
