#pragma once

#include <limits>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// The k experts of highest ranking: ties to the lower expert, so that an expert comes after another
/// exactly when its ranking is lower, or the same and its index higher. A team per token.
template <class Real>
struct ExpertChoiceBody {
  const Real* rankings;
  const Real* scores;
  std::int32_t* chosen;
  Real* weights;
  std::int64_t experts;
  int choices;
  bool normalize;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* ranking = rankings + t * experts;
    const Real* score = scores + t * experts;
    std::int32_t* expert = chosen + t * choices;
    Real* weight = weights + t * choices;

    Real last = std::numeric_limits<Real>::infinity();
    std::int64_t last_expert = -1;
    Real total = 0;
    for (int choice = 0; choice < choices; ++choice) {
      const auto left = [=](std::int64_t e) {
        return ranking[e] < last || (ranking[e] == last && e > last_expert);
      };
      const Real lowest = -std::numeric_limits<Real>::infinity();
      const Real best =
          team.max(experts, [=](std::int64_t e) { return left(e) ? ranking[e] : lowest; });
      std::int64_t found =
          team.first(0, experts, [=](std::int64_t e) { return left(e) && ranking[e] == best; });
      // Rankings that are not numbers compare with nothing: still an expert that exists.
      if (found == experts) found = choice % experts;
      last = best;
      last_expert = found;
      total += score[found];
      if (team.leader()) {
        expert[choice] = static_cast<std::int32_t>(found);
        weight[choice] = score[found];
      }
    }
    if (normalize && team.leader()) {
      for (int choice = 0; choice < choices; ++choice) weight[choice] /= total;
    }
  }
};

/// d_score of a chosen expert: d_weight, or (d_weight - sum_i d_weight_i weight_i) / total where
/// weights are divided by the total of the chosen scores. A team per token.
template <class Real>
struct ExpertChoiceGradientBody {
  const Real* d_weights;
  const Real* scores;
  const std::int32_t* chosen;
  const Real* weights;
  Real* d_scores;
  std::int64_t experts;
  int choices;
  bool normalize;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* score = scores + t * experts;
    const std::int32_t* expert = chosen + t * choices;
    const Real* weight = weights + t * choices;
    const Real* d_weight = d_weights + t * choices;
    Real* out = d_scores + t * experts;
    Real mean = 0, total = 1;
    if (normalize) {
      total = 0;
      for (int choice = 0; choice < choices; ++choice) {
        mean += d_weight[choice] * weight[choice];
        total += score[expert[choice]];
      }
    }
    team.for_each(experts, [=](std::int64_t e) { out[e] = 0; });
    team.sync();
    if (team.leader()) {
      for (int choice = 0; choice < choices; ++choice) {
        out[expert[choice]] = (d_weight[choice] - mean) / total;
      }
    }
  }
};

/// Which copies an expert takes, and their slots. A team per expert.
///
/// Within a group of tokens all first choices come before all second choices, in token order, until
/// the capacity is reached; slots then number the copies kept over all groups, in token order.
/// Writes offsets[expert + 1] = copies kept, to be summed up, and demand[expert].
struct ExpertSlotBody {
  const std::int32_t* chosen;
  std::int32_t* slots;
  std::int32_t* offsets;
  std::int32_t* demand;
  std::int64_t tokens, groups, capacity;  ///< capacity per expert and group
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    const std::int32_t* choice_of = chosen;
    std::int32_t* slot_of = slots;
    const std::int64_t k = choices;
    std::int32_t asked = 0;
    std::int32_t kept = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t begin = tokens * group / groups;
      const std::int64_t size = tokens * (group + 1) / groups - begin;
      std::int64_t room = capacity;
      for (std::int64_t choice = 0; choice < k; ++choice) {
        const std::int32_t* own_choice = choice_of + begin * k + choice;
        std::int32_t* own_slot = slot_of + begin * k + choice;
        const auto wants = [=](std::int64_t t) {
          return static_cast<std::int32_t>(own_choice[t * k] == expert);
        };
        const std::int64_t free = room;
        const std::int32_t wanted = team.scan(size, wants, [=](std::int64_t t, std::int32_t place) {
          if (wants(t)) own_slot[t * k] = place < free ? 0 : -1;
        });
        asked += wanted;
        room = room > wanted ? room - wanted : 0;
      }
      team.sync();
      // A token asks an expert for one copy at most, so its choices share one place in the scan.
      const auto kept_choice = [=](std::int64_t t) {
        for (std::int64_t i = (begin + t) * k; i < (begin + t + 1) * k; ++i) {
          if (choice_of[i] == expert && slot_of[i] >= 0) return i;
        }
        return std::int64_t{-1};
      };
      const std::int32_t before = kept;
      kept += team.scan(
          size, [=](std::int64_t t) { return static_cast<std::int32_t>(kept_choice(t) >= 0); },
          [=](std::int64_t t, std::int32_t place) {
            const std::int64_t i = kept_choice(t);
            if (i >= 0) slot_of[i] = before + place;
          });
    }
    if (team.leader()) {
      offsets[expert + 1] = kept;
      demand[expert] = asked;
    }
  }
};

/// Counts at offsets[1 ...] -> their exclusive prefix sum. One team.
struct OffsetBody {
  std::int32_t* offsets;
  std::int64_t experts;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    if (!team.leader()) return;
    offsets[0] = 0;
    for (std::int64_t e = 0; e < experts; ++e) offsets[e + 1] += offsets[e];
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SelectExperts& op, const BoundOp& bound) {
  const View& rankings = bound.reads[0];
  const std::int64_t tokens = rankings.rows;
  std::int32_t* chosen = data_of<std::int32_t>(bound.writes[0]);
  std::int32_t* offsets = data_of<std::int32_t>(bound.writes[3]);
  exec.rows(
      tokens, op.experts,
      ExpertChoiceBody<Real>{data_of<Real>(rankings), data_of<Real>(bound.reads[1]), chosen,
                             data_of<Real>(bound.writes[1]), op.experts, op.choices, op.normalize});
  exec.rows(op.experts, tokens,
            ExpertSlotBody{chosen, data_of<std::int32_t>(bound.writes[2]), offsets,
                           data_of<std::int32_t>(bound.writes[4]), tokens, op.capacity_groups,
                           op.capacity.value_or(tokens), op.choices});
  exec.rows(1, 1, OffsetBody{offsets, op.experts});
}

template <class Real, class Exec>
void launch(Exec& exec, const SelectExpertsGradient& op, const BoundOp& bound) {
  const View& d_scores = bound.writes[0];
  exec.rows(d_scores.rows, op.experts,
            ExpertChoiceGradientBody<Real>{
                data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                data_of<std::int32_t>(bound.reads[2]), data_of<Real>(bound.reads[3]),
                data_of<Real>(d_scores), op.experts, op.choices, op.normalize});
}

}  // namespace moe
