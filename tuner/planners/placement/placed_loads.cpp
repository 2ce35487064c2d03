#include "tuner/planners/placement/placed_loads.h"

#include <algorithm>
#include <numeric>

#include "moe/rows/balance.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/row_shares.h"

namespace tuner {

PlacedLoads placed_loads(const moe::LayerRouting& routing, const moe::Groups& groups,
                         const moe::ExpertPlacement& placement) {
  PlacedLoads loads{{}, moe::rank_tokens(routing, groups, placement)};
  loads.received.assign(loads.computed.size(), 0);
  // All stages are divided alike: the ranks of the first count as those of any.
  const auto rows = moe::rows_between_ranks(placement, routing, groups);
  for (int source = 0; source < moe::stage_ranks(groups); ++source) {
    const std::vector<int> group = moe::members(groups, moe::GroupKind::expert, source);
    for (std::size_t to = 0; to < group.size(); ++to) {
      if (group[to] != source) loads.received[group[to]] += rows[source][to];
    }
  }
  return loads;
}

GroupedRows grouped_rows(const moe::LayerRouting& routing, const moe::Groups& groups,
                         moe::ExpertHomes homes) {
  const moe::Layout& layout = groups.layout;
  if (homes.empty()) {
    homes = moe::homes_in_order(routing.experts, layout.expert);
  } else {
    moe::expert_slots({{}, moe::RowsOfOthers::home, homes}, routing.experts, layout.expert);
  }
  GroupedRows rows{layout.data, layout.expert_sharded, routing.experts, layout.expert,
                   {},          std::move(homes)};
  const auto experts = static_cast<std::size_t>(rows.experts);
  const auto members = static_cast<std::size_t>(rows.members);
  const auto shards = static_cast<std::size_t>(rows.shards);
  const auto ranks = static_cast<std::size_t>(moe::source_ranks(routing));
  rows.rows.resize(ranks * experts);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    // layout.h: rank = (copy * members + member) * shards + shard
    const std::size_t shard = rank % shards, member = rank / shards % members;
    const std::size_t copy = rank / shards / members;
    std::int64_t* to = rows.rows.data() + (copy * shards + shard) * experts * members + member;
    for (const std::int64_t tokens : moe::tokens_from(routing, static_cast<int>(rank))) {
      *to = tokens;
      to += members;
    }
  }
  return rows;
}

std::span<const std::int64_t> rows_of(const GroupedRows& rows, int copy, int shard, int expert) {
  const auto members = static_cast<std::size_t>(rows.members);
  const auto line = static_cast<std::size_t>((copy * rows.shards + shard) * rows.experts + expert);
  return std::span(rows.rows).subspan(line * members, members);
}

std::vector<std::int64_t> rows_by_expert(const GroupedRows& rows) {
  std::vector<std::int64_t> total(static_cast<std::size_t>(rows.experts), 0);
  for (int copy = 0; copy < rows.copies; ++copy) {
    for (int shard = 0; shard < rows.shards; ++shard) {
      for (int expert = 0; expert < rows.experts; ++expert) {
        const auto of_group = rows_of(rows, copy, shard, expert);
        total[expert] += std::accumulate(of_group.begin(), of_group.end(), std::int64_t{0});
      }
    }
  }
  return total;
}

std::vector<std::int64_t> rows_by_member(const GroupedRows& rows, int expert) {
  std::vector<std::int64_t> total(static_cast<std::size_t>(rows.members), 0);
  for (int copy = 0; copy < rows.copies; ++copy) {
    for (int shard = 0; shard < rows.shards; ++shard) {
      const auto of_group = rows_of(rows, copy, shard, expert);
      for (std::size_t member = 0; member < total.size(); ++member) {
        total[member] += of_group[member];
      }
    }
  }
  return total;
}

double max_over_mean(const std::vector<std::int64_t>& loads) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (sum == 0) return 1;
  const auto most = *std::max_element(loads.begin(), loads.end());
  return static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(sum);
}

}  // namespace tuner
