#pragma once

#include <limits>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Softmax over the experts and the k largest: ties to the lower expert, so that an expert comes
/// after another exactly when its logit is lower, or the same and its index higher. A team per
/// token.
template <class Real>
struct GateChoiceBody {
  const Real* logits;
  Real* probabilities;
  std::int32_t* chosen;
  Real* weights;
  std::int64_t experts;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* logit = logits + t * experts;
    Real* p = probabilities + t * experts;
    std::int32_t* expert = chosen + t * choices;
    Real* weight = weights + t * choices;

    const Real largest = team.max(experts, [=](std::int64_t e) { return logit[e]; });
    const Real sum = team.sum(experts, [=](std::int64_t e) {
      const Real value = exponential(logit[e] - largest);
      p[e] = value;
      return value;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(experts, [=](std::int64_t e) { p[e] *= inverse; });

    Real last = largest;
    std::int64_t last_expert = -1;
    Real total = 0;
    for (int choice = 0; choice < choices; ++choice) {
      const auto left = [=](std::int64_t e) {
        return logit[e] < last || (logit[e] == last && e > last_expert);
      };
      const Real lowest = -std::numeric_limits<Real>::infinity();
      const Real best =
          team.max(experts, [=](std::int64_t e) { return left(e) ? logit[e] : lowest; });
      std::int64_t found =
          team.first(0, experts, [=](std::int64_t e) { return left(e) && logit[e] == best; });
      // Logits that are not numbers compare with nothing: still an expert that exists.
      if (found == experts) found = choice % experts;
      last = best;
      last_expert = found;
      const Real probability = exponential(logit[found] - largest) * inverse;
      total += probability;
      if (team.leader()) {
        expert[choice] = static_cast<std::int32_t>(found);
        weight[choice] = probability;
      }
    }
    if (choices > 1 && team.leader()) {
      for (int choice = 0; choice < choices; ++choice) weight[choice] /= total;
    }
  }
};

/// Which copies an expert takes, and their slots. A team per expert.
///
/// Within a group of tokens all first choices come before all second choices, in token order, until
/// the capacity is reached; slots then number the copies kept over all groups, in token order.
/// Writes offsets[expert + 1] = copies kept, to be summed up, and demand[expert].
struct GateSlotBody {
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
void launch(Exec& exec, const Gate& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  const std::int64_t tokens = logits.rows;
  std::int32_t* chosen = data_of<std::int32_t>(bound.writes[1]);
  std::int32_t* offsets = data_of<std::int32_t>(bound.writes[4]);
  exec.rows(tokens, op.experts,
            GateChoiceBody<Real>{data_of<Real>(logits), data_of<Real>(bound.writes[0]), chosen,
                                 data_of<Real>(bound.writes[2]), op.experts, op.choices});
  exec.rows(op.experts, tokens,
            GateSlotBody{chosen, data_of<std::int32_t>(bound.writes[3]), offsets,
                         data_of<std::int32_t>(bound.writes[5]), tokens, op.capacity_groups,
                         op.capacity.value_or(tokens), op.choices});
  exec.rows(1, 1, OffsetBody{offsets, op.experts});
}

}  // namespace moe
