#pragma once

#include <limits>
#include <stdexcept>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// A team per token: its members score groups, then keep or leave out experts.
template <class Real>
struct KeepBestGroupsBody {
  const Real* rankings;
  Real* kept;
  Real* group_scores;
  std::int64_t experts;
  int groups, best, counted;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* ranking = rankings + t * experts;
    Real* out = kept + t * experts;
    Real* scores = group_scores + t * groups;
    const std::int64_t size = experts / groups, most = best, all = groups;
    const int added = counted;
    team.for_each(groups, [=](std::int64_t group) {
      scores[group] = sum_of_highest(ranking + group * size, size, added);
    });
    team.sync();
    team.for_each(experts, [=](std::int64_t e) {
      const std::int64_t own = e / size;
      std::int64_t before = 0;
      for (std::int64_t group = 0; group < all; ++group) {
        const bool higher = scores[group] > scores[own];
        if (higher || (scores[group] == scores[own] && group < own)) ++before;
      }
      out[e] = before < most ? ranking[e] : static_cast<Real>(kLeftOutRanking);
    });
  }

 private:
  static MOE_BODY Real sum_of_highest(const Real* ranking, std::int64_t size, int count) {
    Real sum = 0, last = std::numeric_limits<Real>::infinity();
    std::int64_t last_at = -1;
    for (int i = 0; i < count && i < size; ++i) {
      std::int64_t found = -1;
      for (std::int64_t e = 0; e < size; ++e) {
        const bool left = ranking[e] < last || (ranking[e] == last && e > last_at);
        if (left && (found < 0 || ranking[e] > ranking[found])) found = e;
      }
      if (found < 0) break;  // the others are no numbers
      last = ranking[found];
      last_at = found;
      sum += last;
    }
    return sum;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const KeepBestGroups& op, const BoundOp& bound) {
  const View& ranking = bound.reads[0];
  if (op.groups < 1 || ranking.columns % op.groups != 0) {
    throw std::logic_error("keep_best_groups: " + std::to_string(ranking.columns) + " experts in " +
                           std::to_string(op.groups) + " groups");
  }
  exec.rows(ranking.rows, ranking.columns,
            KeepBestGroupsBody<Real>{data_of<Real>(ranking), data_of<Real>(bound.writes[0]),
                                     data_of<Real>(bound.writes[1]), ranking.columns, op.groups,
                                     op.best, op.counted});
}

}  // namespace moe
