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

/// The same of the copies that gates asked for, before those over capacity were dropped; of those
/// that travelled where only they were recorded.
std::vector<std::int64_t> asked_expert_tokens(const LayerRouting& routing);

/// [rank in the layer's pipeline stage]: token copies that the rank computes, under `placement`.
/// Ranks that share an expert (esp) all compute every one of its tokens, so each of them counts
/// all.
std::vector<std::int64_t> rank_tokens(const LayerRouting& routing, const Groups& groups,
                                      const ExpertPlacement& placement = {});

/// Tokens of the fullest expert over the mean of the layer's experts, in the MoE layer where that
/// is the most, all micro-batches together; 1 where loads are even. Of the copies that gates asked
/// for: a capacity drops what is uneven. None where nothing was routed.
std::optional<double> worst_max_over_mean(const Routing& routing);

/// a.b / (|a| |b|): how alike two distributions of tokens over experts are. It is 1 where they are
/// the same up to a factor and 0 where they have no expert in common. None where either is all zero
/// or where they differ in length.
std::optional<double> cosine_similarity(std::span<const std::int64_t> a,
                                        std::span<const std::int64_t> b);

/// [rank in the layer's pipeline stage]: token copies that the rank computes in an iteration under
/// `placement`, in every micro-batch and part by what was chosen for it. Empty where the placement
/// neither replicates nor moves an expert.
std::vector<std::int64_t> placed_tokens(const Routing& routing, int layer, const Groups& groups,
                                        const ExpertPlacement& placement);

/// The balance of one layer's loads: a row of the database, its run and iteration not yet set.
/// `before` is asked_expert_tokens() of the previous iteration, empty where there is none. `placed`
/// is placed_tokens(); the balance of ranks under the placement stands beside that without it.
/// The standard deviation over experts is Pro-Prophet's balance degree ("the standard deviation of
/// the input distribution tensor", VI). Pro-Prophet calls the similarity of neighbouring
/// iterations' loads locality and gives no measure of it. Here it is the cosine similarity of what
/// gates asked for.
db::Balance balance_of(const LayerRouting& routing, const Groups& groups,
                       std::span<const std::int64_t> before,
                       std::span<const std::int64_t> placed = {});

/// The loads of the layer's ranks: rows of the database, their run and iteration not yet set. The
/// ranks of the layer's pipeline stage are numbered from first_rank on. `placed`: placed_tokens().
std::vector<db::RankLoad> rank_loads(const LayerRouting& routing, const Groups& groups,
                                     int first_rank, std::span<const std::int64_t> placed = {});

/// The experts that every rank of the stage computes under `placement`, in any micro-batch or part
/// of the iteration; none where the placement neither replicates nor moves an expert.
std::vector<db::ExpertPlace> expert_places(const Routing& routing, int layer, const Groups& groups,
                                           int first_rank, const ExpertPlacement& placement);

}  // namespace moe
