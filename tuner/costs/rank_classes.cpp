#include "tuner/costs/rank_classes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "moe/kernels/counter_random.h"
#include "moe/rows/expert_slots.h"

namespace tuner {
namespace {

/// A number that tells classes from each other. Numbers are mixed so well that two are not the same
/// by chance (2^-64 for each pair).
using Color = std::uint64_t;
Color blended(Color color, Color more) { return moe::mix(color ^ moe::mix(more + 1)); }

/// Numbers from 0 on, in the order in which the colors occur.
struct Numbered {
  std::vector<int> number;
  int count = 0;
};
Numbered numbered(const std::vector<Color>& colors) {
  Numbered result;
  std::unordered_map<Color, int> known;
  for (const Color color : colors) {
    result.number.push_back(known.try_emplace(color, static_cast<int>(known.size())).first->second);
  }
  result.count = static_cast<int>(known.size());
  return result;
}

std::set<moe::GroupKind> kinds_of_groups(const moe::Program& program) {
  std::set<moe::GroupKind> kinds;
  for (const moe::Op& op : program.ops) {
    if (const auto kind = moe::group_of(op)) kinds.insert(*kind);
  }
  return kinds;
}

std::set<moe::GroupKind> kinds_of_rings(const moe::Program& program) {
  std::set<moe::GroupKind> kinds;
  for (const moe::Op& op : program.ops) {
    if (const auto* reduce = std::get_if<moe::AllReduce>(&op.kind)) kinds.insert(reduce->group);
  }
  return kinds;
}

/// Tells the places in a stage apart, round by round, by what their neighbours are.
class Refinement {
 public:
  Refinement(const moe::Program& program, const moe::Groups& groups)
      : groups_(groups),
        kinds_(kinds_of_groups(program)),
        rings_(kinds_of_rings(program)),
        places_(moe::stage_ranks(groups)) {
    const int nodes = *std::ranges::max_element(groups.node_of) + 1;
    std::vector<int> on_node(static_cast<std::size_t>(nodes));
    for (const int node : groups.node_of) place_in_node_.push_back(on_node[node]++);
  }

  std::vector<Color> refined(std::vector<Color> colors) const {
    for (int rank = 0; rank < groups_.ranks; ++rank) {
      Color& color = colors[rank % places_];
      color = blended(color, static_cast<Color>(place_in_node_[rank]));
    }
    colors = settled(std::move(colors));
    // Of ranks on rings also what passes them their share. One step along the ring tells where one
    // kind of node follows another; further ones would tell all ranks apart.
    std::vector<Color> told = colors;
    for (const moe::GroupKind kind : rings_) by_neighbours(kind, told);
    told = settled(std::move(told));
    return numbered(told).count > places_ / 2 ? colors : told;
  }

 private:
  /// Until nothing more is told apart.
  std::vector<Color> settled(std::vector<Color> colors) const {
    for (int count = 0, before = -1; count != before;) {
      before = count;
      colors = by_nodes(colors);
      for (const moe::Level& level : groups_.levels) colors = by_blocks(level, colors);
      for (const moe::GroupKind kind : kinds_) by_groups(kind, colors);
      count = numbered(colors).count;
      if (count > places_ / 2) break;  // it does not pay to know them
    }
    return colors;
  }

  /// Nodes are alike where the ranks in the same places are.
  std::vector<Color> by_nodes(const std::vector<Color>& colors) const {
    std::unordered_map<int, Color> node;
    for (int rank = 0; rank < groups_.ranks; ++rank) {
      Color& of_node = node[groups_.node_of[rank]];
      of_node = blended(of_node, colors[rank % places_]);
    }
    std::vector<Color> result = colors;
    for (int rank = 0; rank < groups_.ranks; ++rank) {
      Color& color = result[rank % places_];
      color = blended(color, node.at(groups_.node_of[rank]));
    }
    return result;
  }

  /// Blocks are alike where they have as many ranks of each color.
  std::vector<Color> by_blocks(const moe::Level& level, const std::vector<Color>& colors) const {
    std::vector<Color> block(static_cast<std::size_t>(moe::block_count(level)));
    for (int rank = 0; rank < groups_.ranks; ++rank) {
      block[level.block_of[rank]] += moe::mix(colors[rank % places_]);
    }
    std::vector<Color> result = colors;
    for (int rank = 0; rank < groups_.ranks; ++rank) {
      Color& color = result[rank % places_];
      color = blended(color, block[level.block_of[rank]]);
    }
    return result;
  }

  /// Groups are alike where they have as many ranks of each color, and so have the parts of them
  /// that lie in one block. Stages are divided alike.
  void by_groups(moe::GroupKind kind, std::vector<Color>& colors) const {
    std::vector<bool> seen(colors.size());
    const std::vector<Color> before = colors;
    for (int rank = 0; rank < places_; ++rank) {
      if (seen[rank]) continue;
      const std::vector<int> group = moe::members(groups_, kind, rank);
      const auto color_with = [&](const auto& part_of) {
        std::unordered_map<int, Color> sums;
        for (const int member : group) sums[part_of(member)] += moe::mix(before[member % places_]);
        for (const int member : group) {
          if (member >= places_) continue;  // of another stage
          seen[member] = true;
          colors[member] = blended(colors[member], sums.at(part_of(member)));
        }
      };
      color_with([](int) { return 0; });
      for (const moe::Level& level : groups_.levels) {
        color_with([&](int member) { return level.block_of[member]; });
      }
    }
  }

  /// Ranks on a ring are alike where those before and after them are.
  void by_neighbours(moe::GroupKind kind, std::vector<Color>& colors) const {
    std::vector<bool> seen(colors.size());
    const std::vector<Color> before = colors;
    for (int rank = 0; rank < places_; ++rank) {
      if (seen[rank]) continue;
      const std::vector<int> ring = moe::members(groups_, kind, rank);
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const int left = ring[(i + ring.size() - 1) % ring.size()];
        const int right = ring[(i + 1) % ring.size()];
        seen[ring[i]] = true;
        colors[ring[i]] = blended(blended(before[ring[i]], before[left]), before[right]);
      }
    }
  }

  const moe::Groups& groups_;
  const std::set<moe::GroupKind> kinds_;
  const std::set<moe::GroupKind> rings_;  ///< those of all-reduces, inside a stage
  const int places_;
  std::vector<int> place_in_node_;  ///< [rank]
};

/// Classes from the numbers of the places in a stage.
RankClasses classes_by_place(const moe::Groups& groups, const Numbered& places) {
  RankClasses classes;
  const int stages = groups.layout.pipeline;
  const int in_stage = moe::stage_ranks(groups);
  classes.groups.ranks = stages * places.count;
  classes.groups.layout = {places.count, 1, 1, 1, stages};
  classes.rank_of.assign(static_cast<std::size_t>(classes.groups.ranks), -1);
  classes.count.assign(classes.rank_of.size(), 0);
  for (int rank = 0; rank < groups.ranks; ++rank) {
    const int one = rank / in_stage * places.count + places.number[rank % in_stage];
    classes.of_rank.push_back(one);
    if (classes.count[one]++ == 0) classes.rank_of[one] = rank;
  }
  const auto numbers_of_first = [&](const std::vector<int>& of_rank) {
    std::map<int, int> numbers;
    for (const int rank : classes.rank_of) numbers.try_emplace(of_rank[rank], 0);
    int next = 0;
    for (auto& [one, number] : numbers) number = next++;
    std::vector<int> of_class;
    for (const int rank : classes.rank_of) of_class.push_back(numbers.at(of_rank[rank]));
    return of_class;
  };
  classes.groups.node_of = numbers_of_first(groups.node_of);
  if (!groups.card_of.empty()) classes.groups.card_of = numbers_of_first(groups.card_of);
  for (const moe::Level& level : groups.levels) {
    moe::Level& of_classes = classes.groups.levels.emplace_back();
    of_classes.block_of = numbers_of_first(level.block_of);
    of_classes.alike.assign(classes.rank_of.size(), 0);
    for (int rank = 0; rank < groups.ranks; ++rank) {
      const int one = classes.of_rank[rank];
      const bool with_first = level.block_of[rank] == level.block_of[classes.rank_of[one]];
      of_classes.alike[one] += with_first ? 1 : 0;
    }
  }
  return classes;
}

}  // namespace

namespace {

/// Whether all ranks send the same row, straight to experts that are there once.
bool sends_one_row(const moe::RoutedRows& layer, int ranks) {
  const moe::RowHandling& handling = *layer.handling;
  return layer.counts->alike == ranks && handling.ranks_per_group == 0 && handling.relays.empty() &&
         !moe::has_replicas(handling.placement);
}

}  // namespace

std::vector<int> classes_in_layer(const moe::RoutedRows& layer, const moe::Groups& groups) {
  const int ranks = moe::stage_ranks(groups);
  std::vector<int> result(static_cast<std::size_t>(ranks));
  std::iota(result.begin(), result.end(), 0);
  const moe::RowHandling& handling = *layer.handling;
  if (!sends_one_row(layer, ranks)) return result;
  // All ranks send the same row: the rows for a rank's experts tell it from the others.
  const moe::ExpertSlots slots =
      moe::expert_slots(handling.placement, layer.counts->experts, groups.layout.expert);
  std::vector<Color> colors;
  for (int member = 0; member < groups.layout.expert; ++member) {
    Color color = 0;
    for (int slot = 0; slot < slots.in_order.held_by(member); ++slot) {
      const int expert = moe::expert_in(slots, member, slot);
      color = blended(color, static_cast<Color>(layer.counts->tokens.front()[expert]));
    }
    colors.push_back(color);
  }
  const Numbered members = numbered(colors);
  for (int rank = 0; rank < ranks; ++rank) {
    result[rank] = members.number[moe::index_in_group(groups, moe::GroupKind::expert, rank)];
  }
  return result;
}

bool have_same_rows(const moe::RoutedRows& a, const moe::RoutedRows& b) {
  const moe::RowHandling &one = *a.handling, &other = *b.handling;
  return one.cuts == other.cuts && one.relays.empty() && other.relays.empty() &&
         one.ranks_per_group == other.ranks_per_group && one.placement == other.placement &&
         a.counts->experts == b.counts->experts && a.counts->alike == b.counts->alike &&
         a.counts->tokens == b.counts->tokens;
}

bool loads_are_even(const std::vector<moe::RoutedRows>& layers, const moe::Groups& groups) {
  return std::ranges::all_of(layers, [&](const moe::RoutedRows& layer) {
    if (!sends_one_row(layer, moe::stage_ranks(groups))) return false;
    if (layer.counts->experts % groups.layout.expert != 0) return false;
    const auto [least, most] = std::ranges::minmax(layer.counts->tokens.front());
    return most - least <= 1;
  });
}

RankClasses single_ranks(const moe::Groups& groups) {
  RankClasses classes;
  classes.groups = groups;
  classes.of_rank.resize(static_cast<std::size_t>(groups.ranks));
  std::iota(classes.of_rank.begin(), classes.of_rank.end(), 0);
  classes.rank_of = classes.of_rank;
  classes.count.assign(classes.of_rank.size(), 1);
  return classes;
}

RankClasses rank_classes(const moe::Program& program, const moe::Groups& groups,
                         const std::vector<moe::RoutedRows>& layers, const Cluster& cluster,
                         int most_single) {
  if (groups.ranks <= most_single || ranks_contend(cluster.shared_processors, groups.ranks)) {
    return single_ranks(groups);
  }
  std::vector<Color> colors(static_cast<std::size_t>(moe::stage_ranks(groups)));
  const moe::RoutedRows* before = nullptr;
  for (const moe::RoutedRows& layer : layers) {
    if (before != nullptr && have_same_rows(layer, *before)) continue;  // it tells no more apart
    before = &layer;
    const std::vector<int> in_layer = classes_in_layer(layer, groups);
    for (std::size_t place = 0; place < colors.size(); ++place) {
      colors[place] = blended(colors[place], static_cast<Color>(in_layer[place]));
    }
  }
  const Numbered places = numbered(Refinement(program, groups).refined(std::move(colors)));
  if (places.count > moe::stage_ranks(groups) / 2) return single_ranks(groups);
  return classes_by_place(groups, places);
}

}  // namespace tuner
