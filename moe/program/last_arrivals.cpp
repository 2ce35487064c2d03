#include "moe/program/last_arrivals.h"

#include <algorithm>
#include <cstddef>

namespace moe {
namespace {

/// [rank]: the lowest rank of its group of that kind.
std::vector<int> lowest_members(const Groups& groups, GroupKind kind) {
  std::vector<int> first(static_cast<std::size_t>(groups.ranks), -1);
  for (int rank = 0; rank < groups.ranks; ++rank) {
    if (first[rank] >= 0) continue;
    for (const int member : members(groups, kind, rank)) first[member] = rank;
  }
  return first;
}

}  // namespace

FirstRanks first_ranks(const Program& program, const Groups& groups) {
  FirstRanks first;
  for (const Op& op : program.ops) {
    const std::optional<GroupKind> kind = group_of(op);
    if (kind && !first.contains(*kind)) first.emplace(*kind, lowest_members(groups, *kind));
  }
  return first;
}

FirstRanks first_places(const FirstRanks& first, const Timeline& timeline) {
  if (timeline.like.empty()) return first;
  FirstRanks result;
  for (const auto& [kind, first_rank] : first) {
    std::map<int, int> lowest;  // by lowest rank of a group: its lowest place
    for (int rank = 0; rank < rank_count(timeline); ++rank) {
      const auto [found, added] = lowest.try_emplace(first_rank[rank], timeline.like[rank]);
      if (!added) found->second = std::min(found->second, timeline.like[rank]);
    }
    std::vector<int>& places = result[kind];
    places.resize(timeline.ranks.size());
    for (int rank = 0; rank < rank_count(timeline); ++rank) {
      places[timeline.like[rank]] = lowest.at(first_rank[rank]);
    }
  }
  return result;
}

LastArrivals::LastArrivals(const Program& program, const Timeline& timeline,
                           const FirstRanks& first)
    : program_(program), first_(first) {
  for (std::size_t place = 0; place < timeline.ranks.size(); ++place) {
    for (const OpSpan& span : timeline.ranks[place]) {
      const std::optional<GroupKind> kind = group_of(program.ops[span.op]);
      if (!kind) continue;
      const auto [found, added] =
          last_s_.try_emplace({span.op, first.at(*kind)[place]}, span.start_s);
      if (!added) found->second = std::max(found->second, span.start_s);
    }
  }
}

std::optional<double> LastArrivals::waiting_s(const OpSpan& span, int place) const {
  const std::optional<GroupKind> kind = group_of(program_.ops[span.op]);
  if (!kind) return std::nullopt;
  const double last_s = last_s_.at({span.op, first_.at(*kind)[place]});
  return std::clamp(last_s - span.start_s, 0.0, std::max(span.duration_s, 0.0));
}

}  // namespace moe
