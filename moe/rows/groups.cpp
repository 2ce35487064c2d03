#include "moe/rows/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "moe/rows/expert_nodes.h"

namespace moe {
namespace {

/// The coordinates of a rank in its layout.
struct Place {
  int stage, in_stage;
  int data, expert, shard;      ///< among the experts
  int dense_data, dense_shard;  ///< among the dense layers
};

Place place_of(const Layout& layout, int rank) {
  const int in_stage = rank % stage_ranks(layout);
  const int shard = in_stage % layout.expert_sharded, rest = in_stage / layout.expert_sharded;
  return {rank / stage_ranks(layout), in_stage, rest / layout.expert,
          rest % layout.expert,       shard,    in_stage / layout.tensor,
          in_stage % layout.tensor};
}

/// The pair that a stage is in, where pairs begin with stage `first` and earlier stages are alone.
int pair_of(int stage, int first) { return (stage + first) / 2; }
bool is_at_an_end(const Layout& layout, int stage) {
  return layout.pipeline > 1 && (stage == 0 || stage == layout.pipeline - 1);
}
bool is_of_nodes(GroupKind kind) {
  return kind == GroupKind::expert_node || kind == GroupKind::expert_across ||
         kind == GroupKind::expert_leaders;
}

/// The members of its expert group that a rank meets in a group of nodes, on its own node or
/// across.
std::vector<int> members_by_node(const Groups& groups, GroupKind kind, int rank) {
  const std::vector<int> group = members(groups, GroupKind::expert, rank);
  const ExpertNodes nodes = expert_nodes(groups, rank);
  const auto self =
      static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), rank) - group.begin());
  if (kind == GroupKind::expert_leaders && nodes.place[self] != 0) return {rank};
  std::vector<int> result;
  for (std::size_t other = 0; other < group.size(); ++other) {
    const bool meets = kind == GroupKind::expert_node ? nodes.node[other] == nodes.node[self]
                                                      : nodes.place[other] == nodes.place[self];
    if (meets) result.push_back(group[other]);
  }
  return result;
}

/// The ranks first, first + step, ..., `count` of them.
std::vector<int> every(int first, int step, int count) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * step);
  return ranks;
}

/// The ranks in the same place of the stages that are a pair with this one, where pairs begin with
/// stage `first`.
std::vector<int> members_at_boundary(const Layout& layout, const Place& place, int first) {
  std::vector<int> ranks;
  for (int stage = std::max(place.stage - 1, 0); stage < std::min(place.stage + 2, layout.pipeline);
       ++stage) {
    if (pair_of(stage, first) == pair_of(place.stage, first)) {
      ranks.push_back(stage * stage_ranks(layout) + place.in_stage);
    }
  }
  return ranks;
}

}  // namespace

Groups make_groups(const Layout& layout, std::vector<int> node_of) {
  const int ranks = rank_count(layout), in_stage = stage_ranks(layout);
  // A group with ranks that are not there would wait for them for ever.
  if (layout.tensor < 1 || in_stage % layout.tensor != 0) {
    throw std::invalid_argument(fmt::format("groups: layout {}: tp = {} does not divide {} ranks",
                                            to_text(layout), layout.tensor, in_stage));
  }
  if (node_of.empty()) node_of.assign(static_cast<std::size_t>(ranks), 0);
  if (static_cast<int>(node_of.size()) != ranks) {
    throw std::invalid_argument(fmt::format("groups: nodes of {} ranks, but layout {} has {} ranks",
                                            node_of.size(), to_text(layout), ranks));
  }
  return {ranks, layout, std::move(node_of), {}};
}

int card_count(const Groups& groups) {
  return std::ranges::max(groups.card_of.empty() ? groups.node_of : groups.card_of) + 1;
}

int block_count(const Level& level) { return std::ranges::max(level.block_of) + 1; }

int sending_rank(const Groups& groups, std::span<const int> members, int from, int to) {
  if (groups.place_of.empty()) return from;
  const int relay = from - groups.place_of[from] + groups.place_of[to];  // ranks fill nodes in turn
  if (!std::ranges::binary_search(members, relay)) return from;
  return network_card(groups, relay) == network_card(groups, from) ? from : relay;
}

int levels_crossed(const Groups& groups, int by, int to) {
  int crossed = 0;
  for (const Level& level : groups.levels) crossed += level.block_of[by] != level.block_of[to];
  return crossed;
}

Groups make_groups(int ranks, int expert_ranks, std::vector<int> node_of) {
  if (ranks < 1 || expert_ranks < 1 || ranks % expert_ranks != 0) {
    throw std::invalid_argument(fmt::format(
        "groups: {} ranks do not divide into expert groups of {}: expected a divisor of {}", ranks,
        expert_ranks, ranks));
  }
  return make_groups({ranks / expert_ranks, expert_ranks, 1}, std::move(node_of));
}

int stage_ranks(const Groups& groups) { return stage_ranks(groups.layout); }
int stage_of(const Groups& groups, int rank) { return rank / stage_ranks(groups); }
int rank_in_stage(const Groups& groups, int rank) { return rank % stage_ranks(groups); }
std::string_view group_name(GroupKind kind) {
  switch (kind) {
    case GroupKind::stage:
      return "stage";
    case GroupKind::expert:
      return "expert";
    case GroupKind::expert_sharded:
      return "expert_sharded";
    case GroupKind::expert_data:
      return "expert_data";
    case GroupKind::expert_node:
      return "expert_node";
    case GroupKind::expert_across:
      return "expert_across";
    case GroupKind::expert_leaders:
      return "expert_leaders";
    case GroupKind::tensor:
      return "tensor";
    case GroupKind::data:
      return "data";
    case GroupKind::even_boundary:
      return "even_boundary";
    case GroupKind::odd_boundary:
      return "odd_boundary";
    case GroupKind::ends:
      return "ends";
    case GroupKind::world:
      return "world";
  }
  throw std::logic_error("group_name: no such kind");
}

GroupKind boundary_after(int earlier) {
  return earlier % 2 == 0 ? GroupKind::even_boundary : GroupKind::odd_boundary;
}

int group_size(const Groups& groups, GroupKind kind) {
  switch (kind) {
    case GroupKind::stage:
      return stage_ranks(groups);
    case GroupKind::expert:
      return groups.layout.expert;
    case GroupKind::expert_sharded:
      return groups.layout.expert_sharded;
    case GroupKind::expert_data:
      return groups.layout.data;
    case GroupKind::tensor:
      return groups.layout.tensor;
    case GroupKind::data:
      return stage_ranks(groups) / groups.layout.tensor;
    case GroupKind::even_boundary:
    case GroupKind::ends:
      return groups.layout.pipeline > 1 ? 2 : 1;
    case GroupKind::odd_boundary:
      return groups.layout.pipeline > 2 ? 2 : 1;
    case GroupKind::world:
      return groups.ranks;
    case GroupKind::expert_node:
    case GroupKind::expert_across:
    case GroupKind::expert_leaders:
      break;
  }
  throw std::logic_error("group_size: no such group, or one whose size depends on the rank");
}

int group_size(const Groups& groups, GroupKind kind, int rank) {
  if (!is_of_nodes(kind)) return group_size(groups, kind);
  return static_cast<int>(members(groups, kind, rank).size());
}

std::vector<int> members(const Groups& groups, GroupKind kind, int rank) {
  if (is_of_nodes(kind)) return members_by_node(groups, kind, rank);
  const Layout& layout = groups.layout;
  const Place place = place_of(layout, rank);
  const int in_stage = stage_ranks(layout), stage = place.stage * in_stage;
  const int shards = layout.expert_sharded;
  switch (kind) {
    case GroupKind::stage:
      return every(stage, 1, in_stage);
    case GroupKind::expert:
      return every(stage + place.data * layout.expert * shards + place.shard, shards,
                   layout.expert);
    case GroupKind::expert_sharded:
      return every(stage + place.in_stage - place.shard, 1, shards);
    case GroupKind::expert_data:
      return every(stage + place.in_stage % (layout.expert * shards), layout.expert * shards,
                   layout.data);
    case GroupKind::tensor:
      return every(stage + place.dense_data * layout.tensor, 1, layout.tensor);
    case GroupKind::data:
      return every(stage + place.dense_shard, layout.tensor, in_stage / layout.tensor);
    case GroupKind::even_boundary:
      return members_at_boundary(layout, place, 0);
    case GroupKind::odd_boundary:
      return members_at_boundary(layout, place, 1);
    case GroupKind::ends:
      if (!is_at_an_end(layout, place.stage)) return {rank};
      return {place.in_stage, (layout.pipeline - 1) * in_stage + place.in_stage};
    case GroupKind::world:
      return every(0, 1, groups.ranks);
    case GroupKind::expert_node:
    case GroupKind::expert_across:
    case GroupKind::expert_leaders:
      break;
  }
  throw std::logic_error("members: no such group");
}

int index_in_group(const Groups& groups, GroupKind kind, int rank) {
  const Place place = place_of(groups.layout, rank);
  switch (kind) {
    case GroupKind::stage:
      return place.in_stage;
    case GroupKind::expert:
      return place.expert;
    case GroupKind::expert_sharded:
      return place.shard;
    case GroupKind::expert_data:
      return place.data;
    case GroupKind::tensor:
      return place.dense_shard;
    case GroupKind::data:
      return place.dense_data;
    case GroupKind::even_boundary:
      return place.stage % 2;
    case GroupKind::odd_boundary:
      return place.stage > 0 ? (place.stage - 1) % 2 : 0;
    case GroupKind::ends:
      return place.stage > 0 && is_at_an_end(groups.layout, place.stage) ? 1 : 0;
    case GroupKind::world:
      return rank;
    case GroupKind::expert_node:
    case GroupKind::expert_across:
    case GroupKind::expert_leaders: {
      const std::vector<int> group = members(groups, kind, rank);
      return static_cast<int>(std::lower_bound(group.begin(), group.end(), rank) - group.begin());
    }
  }
  throw std::logic_error("index_in_group: no such group");
}

}  // namespace moe
