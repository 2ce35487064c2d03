#include "moe/rows/balance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "moe/rows/row_shares.h"

namespace moe {
namespace {

std::int64_t sum_of_tokens(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

double mean_tokens(std::span<const std::int64_t> values) {
  return static_cast<double>(sum_of_tokens(values)) / static_cast<double>(values.size());
}

double deviation_of_tokens(std::span<const std::int64_t> values) {
  const double mean = mean_tokens(values);
  double squares = 0;
  for (const std::int64_t value : values) {
    const double away = static_cast<double>(value) - mean;
    squares += away * away;
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Whether an expert is replicated or moved.
bool places_otherwise(const ExpertPlacement& placement) {
  return has_replicas(placement) || !placement.homes.empty();
}

/// Sums over the source ranks; `rows` are the routing's, as they travelled or as asked for.
std::vector<std::int64_t> tokens_of_experts(const std::vector<std::vector<std::int64_t>>& rows,
                                            const LayerRouting& routing) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(routing.experts));
  for (const auto& row : rows) {
    for (std::size_t e = 0; e < tokens.size(); ++e) tokens[e] += row[e] * routing.alike;
  }
  return tokens;
}

}  // namespace

std::vector<std::int64_t> expert_tokens(const LayerRouting& routing) {
  return tokens_of_experts(routing.tokens, routing);
}

std::vector<std::int64_t> asked_expert_tokens(const LayerRouting& routing) {
  return tokens_of_experts(routing.asked.empty() ? routing.tokens : routing.asked, routing);
}

std::optional<double> worst_max_over_mean(const Routing& routing) {
  std::optional<double> worst;
  for (const LayerRouting& layer : add_micro_batches(routing).layers) {
    const std::vector<std::int64_t> tokens = asked_expert_tokens(layer);
    if (tokens.empty() || sum_of_tokens(tokens) == 0) continue;
    const auto most = static_cast<double>(*std::ranges::max_element(tokens));
    worst = std::max(worst.value_or(0), most / mean_tokens(tokens));
  }
  return worst;
}

std::vector<std::int64_t> rank_tokens(const LayerRouting& routing, const Groups& groups,
                                      const ExpertPlacement& placement) {
  // All stages are divided alike, so the ranks of the first stage stand for those of any.
  const auto rows = rows_between_ranks(placement, routing, groups);
  std::vector<std::int64_t> tokens(rows.size());
  for (std::size_t source = 0; source < rows.size(); ++source) {
    const std::vector<int> group = members(groups, GroupKind::expert, static_cast<int>(source));
    for (std::size_t member = 0; member < group.size(); ++member) {
      for (const int rank : members(groups, GroupKind::expert_sharded, group[member])) {
        tokens[rank] += rows[source][member];
      }
    }
  }
  return tokens;
}

namespace {

/// Calls visit(routing) for every routing of the layer in an iteration that has a plan of its own:
/// those of micro-batches, or of their parts. For none where nothing is placed.
template <class Visit>
void visit_rules(const Routing& routing, int layer, const ExpertPlacement& placement,
                 const Visit& visit) {
  if (!places_otherwise(placement)) return;
  for (const LayerRouting& one : routing.layers) {
    if (one.layer != layer) continue;
    if (one.by_part.empty()) visit(one);
    for (const auto& tokens : one.by_part) {
      LayerRouting part{one.layer, one.experts, tokens, one.micro_batch};
      part.alike = one.alike;
      visit(part);
    }
  }
}

}  // namespace

std::vector<std::int64_t> placed_tokens(const Routing& routing, int layer, const Groups& groups,
                                        const ExpertPlacement& placement) {
  std::vector<std::int64_t> sum;
  visit_rules(routing, layer, placement, [&](const LayerRouting& part) {
    const std::vector<std::int64_t> tokens = rank_tokens(part, groups, placement);
    sum.resize(tokens.size());
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) sum[rank] += tokens[rank];
  });
  return sum;
}

std::optional<double> cosine_similarity(std::span<const std::int64_t> a,
                                        std::span<const std::int64_t> b) {
  if (a.size() != b.size()) return std::nullopt;
  double product = 0, a_squares = 0, b_squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    product += x * y;
    a_squares += x * x;
    b_squares += y * y;
  }
  if (a_squares == 0 || b_squares == 0) return std::nullopt;
  return product / std::sqrt(a_squares * b_squares);
}

std::vector<db::RankLoad> rank_loads(const LayerRouting& routing, const Groups& groups,
                                     int first_rank, std::span<const std::int64_t> placed) {
  const std::vector<std::int64_t> kept = rank_tokens(routing, groups);
  std::vector<std::int64_t> asked;
  if (!routing.asked.empty()) {
    LayerRouting before = routing;
    before.tokens = routing.asked;
    asked = rank_tokens(before, groups);
  }
  std::vector<db::RankLoad> rows;
  for (std::size_t rank = 0; rank < kept.size(); ++rank) {
    db::RankLoad& row = rows.emplace_back();
    row.layer = routing.layer;
    row.rank = first_rank + static_cast<int>(rank);
    row.tokens = kept[rank];
    if (!asked.empty()) row.asked_tokens = asked[rank];
    if (!placed.empty()) row.placed_tokens = placed[rank];
  }
  return rows;
}

std::vector<db::ExpertPlace> expert_places(const Routing& routing, int layer, const Groups& groups,
                                           int first_rank, const ExpertPlacement& placement) {
  std::map<std::pair<int, int>, bool> computed;  // by rank and expert: whether it is a replica
  const int of_copy = groups.layout.expert * groups.layout.expert_sharded;
  visit_rules(routing, layer, placement, [&](const LayerRouting& part) {
    for (int first = 0; first < stage_ranks(groups); first += of_copy) {
      const ExpertSlots slots = place_rows(placement, part, groups, first).slots;
      for (int rank = first; rank < first + of_copy; ++rank) {
        const int member = index_in_group(groups, GroupKind::expert, rank);
        for (int slot = 0; slot < slot_count(slots); ++slot) {
          const int expert = expert_in(slots, member, slot);
          if (expert >= 0) computed[{rank, expert}] = home_of(slots, expert) != member;
        }
      }
    }
  });
  std::vector<db::ExpertPlace> rows;
  for (const auto& [at, replica] : computed) {
    rows.push_back({0, 0, layer, first_rank + at.first, at.second, replica ? 1 : 0});
  }
  return rows;
}

db::Balance balance_of(const LayerRouting& routing, const Groups& groups,
                       std::span<const std::int64_t> before, std::span<const std::int64_t> placed) {
  const std::vector<std::int64_t> of_experts = expert_tokens(routing);
  const std::vector<std::int64_t> asked_of = asked_expert_tokens(routing);
  const std::vector<std::int64_t> of_ranks = rank_tokens(routing, groups);
  db::Balance row;
  row.layer = routing.layer;
  row.experts = routing.experts;
  row.unused_experts = static_cast<int>(std::count(of_experts.begin(), of_experts.end(), 0));
  row.tokens = sum_of_tokens(of_experts);
  if (!routing.asked.empty()) {
    row.dropped_tokens = sum_of_tokens(asked_of) - row.tokens;
    row.max_asked_tokens = *std::max_element(asked_of.begin(), asked_of.end());
  }
  row.max_tokens = *std::max_element(of_experts.begin(), of_experts.end());
  row.standard_deviation = deviation_of_tokens(of_experts);
  row.max_rank_tokens = *std::max_element(of_ranks.begin(), of_ranks.end());
  row.mean_rank_tokens = mean_tokens(of_ranks);
  row.rank_standard_deviation = deviation_of_tokens(of_ranks);
  if (!placed.empty()) {
    row.placed_max_rank_tokens = *std::max_element(placed.begin(), placed.end());
    row.placed_rank_standard_deviation = deviation_of_tokens(placed);
  }
  row.locality = cosine_similarity(asked_of, before);
  return row;
}

}  // namespace moe
