#include "moe/rows/row_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "moe/rows/interior_point_quotas.h"
#include "moe/rows/late_rules.h"

namespace moe {

CountTable shares_near_home(std::span<const std::int64_t> rows, std::span<const int> own,
                            std::span<const std::int64_t> quotas) {
  CountTable shares{quotas.size(), std::vector<std::int64_t>(rows.size() * quotas.size())};
  std::vector<std::int64_t> rest(rows.begin(), rows.end()), room(quotas.begin(), quotas.end());
  const auto take = [&](std::size_t source, std::size_t copy) {
    const std::int64_t taken = std::min(rest[source], room[copy]);
    shares.counts[source * shares.columns + copy] += taken;
    rest[source] -= taken;
    room[copy] -= taken;
  };
  for (std::size_t source = 0; source < rows.size(); ++source) {
    if (own[source] >= 0) take(source, static_cast<std::size_t>(own[source]));
  }
  for (std::size_t source = 0, copy = 0; source < rows.size(); ++source) {
    while (rest[source] > 0) {
      if (room.at(copy) == 0) {
        ++copy;
      } else {
        take(source, copy);
      }
    }
  }
  return shares;
}

namespace {

/// [member of the copy's expert groups][shard]: what that rank sends.
std::vector<const std::vector<std::int64_t>*> tokens_of_copy(const LayerRouting& routing,
                                                             const Groups& groups, int rank) {
  std::vector<std::vector<int>> ranks;  // [shard][member]
  for (const int shard : members(groups, GroupKind::expert_sharded, rank)) {
    ranks.push_back(members(groups, GroupKind::expert, shard));
  }
  std::vector<const std::vector<std::int64_t>*> tokens;
  for (std::size_t member = 0; member < ranks.front().size(); ++member) {
    for (const auto& of_shard : ranks) {
      tokens.push_back(&tokens_from(routing, rank_in_stage(groups, of_shard[member])));
    }
  }
  return tokens;
}

/// Chooses replicas by the counts.
PlacedRows place_late(const ExpertPlacement& placement, std::span<const std::int64_t> rows,
                      std::span<const int> nodes) {
  const auto experts = static_cast<int>(rows.size()), members = static_cast<int>(nodes.size());
  const ExpertHomes homes =
      placement.homes.empty() ? homes_in_order(experts, members) : placement.homes;
  const LatePlan plan = late_plan_in_domains(placement.late, rows, homes, nodes);
  ExpertPlacement bound = placement;
  bound.rows_of_others = RowsOfOthers::balanced;
  for (int expert = 0; expert < experts; ++expert) {
    ReplicatedExpert replica{expert, {}};
    for (const MemberRows& one : std::span(plan[expert]).subspan(1)) {
      replica.holders.push_back(one.member);
    }
    if (!replica.holders.empty()) bound.replicas.push_back(std::move(replica));
  }
  PlacedRows placed{expert_slots(bound, experts, members), {}, false};
  placed.in_line = placement.late.rule != LateRule::ultraep;
  for (int expert = 0; expert < experts; ++expert) {
    auto& quotas = placed.quotas.emplace_back(plan[expert].size());
    for (const MemberRows& one : plan[expert]) {
      quotas[copy_at(placed.slots, expert, one.member)] = one.rows;
    }
  }
  return placed;
}

}  // namespace

PlacedRows place_rows(const ExpertPlacement& placement, const LayerRouting& routing,
                      const Groups& groups, int rank) {
  if (source_ranks(routing) != stage_ranks(groups) || routing.experts < groups.layout.expert) {
    throw std::invalid_argument(fmt::format(
        "row layout of layer {}: the routing has {} ranks and {} experts, the layout {} ranks in "
        "expert groups of {}",
        routing.layer, source_ranks(routing), routing.experts, stage_ranks(groups),
        groups.layout.expert));
  }
  const int members = groups.layout.expert;
  const bool late = is_late(placement);
  PlacedRows placed;
  if (!late) placed.slots = expert_slots(placement, routing.experts, members);
  if (!late && placed.slots.copies_before.empty()) return placed;
  std::vector<std::int64_t> total(static_cast<std::size_t>(routing.experts));
  for (const auto* tokens : tokens_of_copy(routing, groups, rank)) {
    for (std::size_t e = 0; e < total.size(); ++e) total[e] += (*tokens)[e];
  }
  if (late) {
    std::vector<int> nodes;
    for (const int member : moe::members(groups, GroupKind::expert, rank)) {
      nodes.push_back(groups.node_of[member]);
    }
    return place_late(placement, total, nodes);
  }
  placed.quotas = placement.balanced_by == BalancedBy::optimum
                      ? balanced_quotas(placed.slots, total)
                      : interior_point_quotas(placed.slots, total);
  return placed;
}

RowShares::RowShares(const PlacedRows& placed, const LayerRouting& routing, const Groups& groups,
                     int rank)
    : slots_(placed.slots),
      shards_(static_cast<std::size_t>(groups.layout.expert_sharded)),
      tokens_(tokens_of_copy(routing, groups, rank)) {
  if (slots_.copies_before.empty()) return;
  split_.resize(static_cast<std::size_t>(routing.experts));
  std::vector<std::int64_t> rows(tokens_.size());
  std::vector<int> own(tokens_.size(), -1);
  for (int expert = 0; expert < routing.experts; ++expert) {
    if (slots_.holders_of[expert].empty()) continue;
    for (std::size_t source = 0; source < rows.size(); ++source) {
      rows[source] = (*tokens_[source])[expert];
      if (placed.in_line) continue;
      own[source] = copy_at(slots_, expert, static_cast<int>(source / shards_));
    }
    split_[expert] = shares_near_home(rows, own, placed.quotas[expert]);
  }
}

std::int64_t RowShares::rows(int shard, int source, int expert, int member) const {
  const std::size_t at =
      static_cast<std::size_t>(source) * shards_ + static_cast<std::size_t>(shard);
  if (!split_.empty() && !split_[expert].counts.empty()) {
    const int copy = copy_at(slots_, expert, member);
    return copy < 0 ? 0 : split_[expert][at][copy];
  }
  return destination(slots_, source, expert) == member ? (*tokens_[at])[expert] : 0;
}

std::vector<std::int64_t> RowShares::rows_by_member(int shard, int source) const {
  const std::size_t at =
      static_cast<std::size_t>(source) * shards_ + static_cast<std::size_t>(shard);
  const std::vector<std::int64_t>& tokens = *tokens_[at];
  std::vector<std::int64_t> rows(tokens_.size() / shards_);
  for (int expert = 0; expert < static_cast<int>(tokens.size()); ++expert) {
    if (split_.empty() || split_[expert].counts.empty()) {
      rows[destination(slots_, source, expert)] += tokens[expert];
      continue;
    }
    const std::vector<int> copies = copies_of(slots_, expert);
    for (std::size_t copy = 0; copy < copies.size(); ++copy) {
      rows[copies[copy]] += split_[expert][at][copy];
    }
  }
  return rows;
}

const SharesByCopy::OfCopy& SharesByCopy::of(const Groups& groups, int rank) {
  const int ranks = groups.layout.expert * groups.layout.expert_sharded;
  return copies_
      .try_emplace(rank_in_stage(groups, rank) / ranks, placement_, routing_, groups, rank)
      .first->second;
}

std::vector<std::vector<std::int64_t>> rows_between_ranks(const ExpertPlacement& placement,
                                                          const LayerRouting& routing,
                                                          const Groups& groups) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(stage_ranks(groups)));
  const int of_copy = groups.layout.expert * groups.layout.expert_sharded;
  for (int first = 0; first < stage_ranks(groups); first += of_copy) {
    const SharesByCopy::OfCopy of_first(placement, routing, groups, first);
    const RowShares& shares = of_first.rows;
    for (int rank = first; rank < first + of_copy; ++rank) {
      rows[rank] = shares.rows_by_member(index_in_group(groups, GroupKind::expert_sharded, rank),
                                         index_in_group(groups, GroupKind::expert, rank));
    }
  }
  return rows;
}

}  // namespace moe
