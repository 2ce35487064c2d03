#include "moe/rows/row_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "moe/rows/late_rules.h"

namespace moe {
namespace {

/// Rows of experts at members, moved along copies until no member has more than a threshold.
class Balancing {
 public:
  Balancing(const ExpertSlots& slots, std::span<const std::int64_t> rows)
      : rows_(rows), load_(slots.replicas_of.size()), at_(load_.size()) {
    for (int expert = 0; expert < static_cast<int>(rows.size()); ++expert) {
      copies_.push_back(copies_of(slots, expert));
      home_.push_back(static_cast<std::size_t>(copy_at(slots, expert, home_of(slots, expert))));
      if (copies_.back().size() < 2) continue;
      for (std::size_t copy = 0; copy < copies_.back().size(); ++copy) {
        at_[copies_.back()[copy]].push_back({expert, copy});
      }
    }
    all_home();
  }

  const RowQuotas& balanced() {
    const std::int64_t total = std::accumulate(load_.begin(), load_.end(), std::int64_t{0});
    const auto members = static_cast<std::int64_t>(load_.size());
    std::int64_t most = (total + members - 1) / members;
    while (!lower_to(most)) most = least_of_stuck();
    all_home();
    lower_to(most);
    return quotas_;
  }

 private:
  struct Copy {
    int expert = 0;
    std::size_t copy = 0;
  };
  struct Step {
    int from = -1;
    Copy copy{};  ///< whose rows go
    std::size_t to_copy = 0;
  };

  void all_home() {
    std::ranges::fill(load_, 0);
    quotas_.clear();
    for (std::size_t expert = 0; expert < rows_.size(); ++expert) {
      quotas_.emplace_back(copies_[expert].size())[home_[expert]] = rows_[expert];
      load_[copies_[expert][home_[expert]]] += rows_[expert];
    }
  }

  /// Whether every member has come down to `most` rows. Where one has not, reached_ are the members
  /// whose rows cannot leave them.
  bool lower_to(std::int64_t most) {
    for (int member = 0; member < static_cast<int>(load_.size()); ++member) {
      while (load_[member] > most) {
        const int to = find(member, most);
        if (to < 0) return false;
        move(member, to, most);
      }
    }
    return true;
  }

  /// The nearest member with room to which rows can go from `member`, by way of others.
  int find(int member, std::int64_t most) {
    steps_.assign(load_.size(), {});
    reached_.assign(1, member);
    for (std::size_t next = 0; next < reached_.size(); ++next) {
      const int from = reached_[next];
      for (const Copy& copy : at_[from]) {
        if (quotas_[copy.expert][copy.copy] == 0) continue;
        const std::vector<int>& copies = copies_[copy.expert];
        for (std::size_t to = 0; to < copies.size(); ++to) {
          const int other = copies[to];
          if (other == member || steps_[other].from >= 0) continue;
          steps_[other] = {from, copy, to};
          reached_.push_back(other);
          if (load_[other] < most) return other;
        }
      }
    }
    return -1;
  }

  void move(int member, int to, std::int64_t most) {
    std::int64_t rows = std::min(load_[member] - most, most - load_[to]);
    for (int at = to; at != member; at = steps_[at].from) {
      rows = std::min(rows, quotas_[steps_[at].copy.expert][steps_[at].copy.copy]);
    }
    for (int at = to; at != member; at = steps_[at].from) {
      const Step& step = steps_[at];
      quotas_[step.copy.expert][step.copy.copy] -= rows;
      quotas_[step.copy.expert][step.to_copy] += rows;
    }
    load_[member] -= rows;
    load_[to] += rows;
  }

  /// No row can leave the members that were reached, so one of them has their mean at least.
  std::int64_t least_of_stuck() const {
    std::int64_t rows = 0;
    for (const int member : reached_) rows += load_[member];
    const auto members = static_cast<std::int64_t>(reached_.size());
    return (rows + members - 1) / members;
  }

  std::span<const std::int64_t> rows_;
  std::vector<std::int64_t> load_;        ///< [member]
  std::vector<std::vector<Copy>> at_;     ///< [member]: its copies of experts that have several
  std::vector<std::vector<int>> copies_;  ///< [expert]: members
  std::vector<std::size_t> home_;         ///< [expert]: which of its copies is the home
  RowQuotas quotas_;
  std::vector<Step> steps_;  ///< [member]: how it was reached
  std::vector<int> reached_;
};

}  // namespace

RowQuotas balanced_quotas(const ExpertSlots& slots, std::span<const std::int64_t> rows) {
  return Balancing(slots, rows).balanced();
}

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
  placed.quotas = balanced_quotas(placed.slots, total);
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
