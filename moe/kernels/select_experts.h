#pragma once

#include <limits>
#include <stdexcept>

#include "moe/errors.h"
#include "moe/kernels/device.h"
#include "moe/kernels/expert_slots.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Chooses the k experts of highest ranking. Ties go to the lower expert: an expert comes after
/// another where its ranking is lower, or where it is the same and its index is higher. NaN ranks
/// below every number, so that the experts of a token differ whatever their rankings. A team per
/// token.
template <class Real>
struct ExpertChoiceBody {
  const Real* rankings;
  const Real* scores;
  std::int32_t* chosen;
  Real* weights;
  std::int64_t experts;
  int choices;
  bool normalize, even, in_turn;
  std::int64_t begin;  ///< place of the first of these tokens among those of the rank
  Real factor;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* ranking = rankings + t * experts;
    const Real* score = scores + t * experts;
    std::int32_t* expert = chosen + t * choices;
    Real* weight = weights + t * choices;

    Real last = std::numeric_limits<Real>::infinity();
    std::int64_t last_expert = -1, first_nan = 0;
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
      last = best;
      last_expert = found;
      if (found == experts) {  // no number is left, nor will be for later choices
        found = team.first(first_nan, experts,
                           [=](std::int64_t e) { return ranking[e] != ranking[e]; });
        first_nan = found + 1;
      }
      if (in_turn) found = ((begin + t) * choices + choice) % experts;
      total += score[found];
      if (team.leader()) {
        expert[choice] = static_cast<std::int32_t>(found);
        weight[choice] = even ? Real(1) / static_cast<Real>(choices) : score[found];
      }
    }
    if (!even && team.leader()) {
      for (int choice = 0; choice < choices; ++choice) {
        if (normalize) weight[choice] /= total;
        weight[choice] *= factor;
      }
    }
  }
};

/// d_score of a chosen expert: factor d_weight, or (factor d_weight - sum_i d_weight_i weight_i) /
/// total where weights are divided by the total of the chosen scores. A team per token.
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
  Real factor;

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
        out[expert[choice]] = (factor * d_weight[choice] - mean) / total;
      }
    }
  }
};

/// [expert]: the counts of the tokens before these (SelectExperts); null for the first tokens.
struct GivenOut {
  const std::int32_t* demand = nullptr;
  const std::int32_t* used = nullptr;
};

/// Decides which copies of tokens [begin, end) of `tokens` an expert takes, and their slots. A team
/// per expert. Arrays by token begin with token `begin`.
///
/// Within a group, copies are taken in the order of Drop until the capacity is reached. Slots
/// number the copies kept over all groups, in token order. Writes offsets[expert + 1] = copies kept
/// (summed up later), demand[expert], and the counts from which the next tokens go on.
template <class Real>
struct ExpertSlotBody {
  static constexpr bool kFewLongRows = true;
  const std::int32_t* chosen;
  const Real* scores;
  std::int32_t* slots;
  std::int32_t* offsets;
  std::int32_t* demand;
  std::int32_t* used;
  GivenOut before;
  std::int64_t tokens, begin, end, groups, capacity;  ///< capacity per expert and group
  std::int64_t experts;
  int choices;
  Drop drop;

  /// Takes at most `room` copies of `size` tokens from `first` on; returns how many tokens asked
  /// for this expert. copy_of(t) is the copy with which token first + t asks in this round, -1
  /// where it does not ask.
  template <class Team, class CopyOf>
  MOE_BODY std::int32_t take(Team& team, std::int64_t size, std::int64_t room,
                             CopyOf copy_of) const {
    std::int32_t* slot_of = slots;
    return team.scan(
        size, [=](std::int64_t t) { return static_cast<std::int32_t>(copy_of(t) >= 0); },
        [=](std::int64_t t, std::int32_t place) {
          const std::int64_t i = copy_of(t);
          if (i >= 0) slot_of[i] = place < room ? 0 : -1;
        });
  }

  /// As take, but by the tokens' scores, ties in token order: finds the score of the last copy that
  /// is kept, bit by bit, and keeps the copies with a higher score.
  template <class Team, class CopyOf>
  MOE_BODY std::int32_t take_best(Team& team, std::int64_t first, std::int64_t size,
                                  std::int64_t room, CopyOf copy_of) const {
    std::int32_t* slot_of = slots;
    const std::int32_t* choice_of = chosen;
    const Real* score = scores;
    const std::int64_t width = experts, k = choices;
    const auto rank_of = [=](std::int64_t t) {
      const std::int64_t token = first + t;
      return ordered_bits(static_cast<double>(score[token * width + choice_of[token * k]]));
    };
    const auto asking = [&](std::uint64_t least) {
      return team.sum(size, [=](std::int64_t t) {
        return static_cast<std::int64_t>(copy_of(t) >= 0 && rank_of(t) >= least);
      });
    };
    const std::int64_t wanted = asking(0);
    std::uint64_t last = 0;
    for (int bit = 63; bit >= 0 && wanted > room; --bit) {
      const std::uint64_t candidate = last | std::uint64_t{1} << bit;
      const std::int64_t count = asking(candidate);
      if (count >= room) last = candidate;
      if (count == room) break;
    }
    const std::int64_t above = last == ~std::uint64_t{0} ? 0 : asking(last + 1);
    team.scan(
        size,
        [=](std::int64_t t) {
          return static_cast<std::int32_t>(copy_of(t) >= 0 && rank_of(t) == last);
        },
        [=](std::int64_t t, std::int32_t place) {
          const std::int64_t i = copy_of(t);
          if (i < 0) return;
          const bool kept = rank_of(t) > last || (rank_of(t) == last && above + place < room);
          slot_of[i] = kept ? 0 : -1;
        });
    return static_cast<std::int32_t>(wanted);
  }

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    const std::int32_t* choice_of = chosen;
    std::int32_t* slot_of = slots;
    const std::int64_t k = choices;
    std::int32_t asked = before.demand != nullptr ? before.demand[expert] : 0;
    std::int64_t taken = before.used != nullptr ? before.used[expert] : 0;
    std::int32_t kept = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t group_begin = tokens * group / groups;
      const std::int64_t group_end = tokens * (group + 1) / groups;
      if (group_end <= begin || group_begin >= end || group_begin == group_end) continue;
      if (group_begin >= begin) taken = 0;
      const std::int64_t first = group_begin > begin ? group_begin - begin : 0;
      const std::int64_t size = (group_end < end ? group_end : end) - begin - first;
      const std::int64_t rounds = drop == Drop::position ? 1 : k;
      for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int64_t room = capacity - taken;
        std::int32_t wanted = 0;
        if (drop == Drop::position) {
          wanted = take(team, size, room, [=](std::int64_t t) {
            for (std::int64_t i = (first + t) * k; i < (first + t + 1) * k; ++i) {
              if (choice_of[i] == expert) return i;
            }
            return std::int64_t{-1};
          });
        } else {
          const auto copy_of = [=](std::int64_t t) {
            const std::int64_t i = (first + t) * k + round;
            return choice_of[i] == expert ? i : std::int64_t{-1};
          };
          wanted = drop == Drop::choice ? take(team, size, room, copy_of)
                                        : take_best(team, first, size, room, copy_of);
        }
        asked += wanted;
        taken += wanted < room ? wanted : room;
      }
      team.sync();
      // A token asks an expert for one copy at most, so its choices share one place in the scan.
      const auto kept_choice = [=](std::int64_t t) {
        for (std::int64_t i = (first + t) * k; i < (first + t + 1) * k; ++i) {
          if (choice_of[i] == expert && slot_of[i] >= 0) return i;
        }
        return std::int64_t{-1};
      };
      const std::int32_t before_group = kept;
      kept += team.scan(
          size, [=](std::int64_t t) { return static_cast<std::int32_t>(kept_choice(t) >= 0); },
          [=](std::int64_t t, std::int32_t place) {
            const std::int64_t i = kept_choice(t);
            if (i >= 0) slot_of[i] = before_group + place;
          });
    }
    team.sync();  // what came before has been read by all
    if (!team.leader()) return;
    offsets[expert + 1] = kept;
    demand[expert] = asked;
    used[expert] = static_cast<std::int32_t>(taken);
  }
};

/// Replaces the counts at offsets[1 ...] by their inclusive prefix sum, before which a zero stands.
/// One team.
struct OffsetBody {
  std::int32_t* offsets;
  std::int64_t experts;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    std::int32_t* counts = offsets + 1;
    team.scan(
        experts, [=](std::int64_t e) { return counts[e]; },
        [=](std::int64_t e, std::int32_t before) { counts[e] += before; });
    if (team.leader()) offsets[0] = 0;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SelectExperts& op, const BoundOp& bound) {
  const Slice part = bound.op->part;
  if (const auto refusal = op.refusal_to_cut(); refusal && !is_whole(part)) {
    throw std::logic_error(bound.op->name + ": " + refusal->what());
  }
  // Parts are equal.
  const std::int64_t count = bound.reads[0].rows, begin = count * part.index,
                     tokens = count * part.count;
  const Real* scores = data_of<Real>(bound.reads[1]);
  std::int32_t* chosen = data_of<std::int32_t>(bound.writes[0]);
  std::int32_t* offsets = data_of<std::int32_t>(bound.writes[3]);
  exec.rows(
      count, op.experts,
      ExpertChoiceBody<Real>{data_of<Real>(bound.reads[0]), scores, chosen,
                             data_of<Real>(bound.writes[1]), op.experts, op.choices, op.normalize,
                             op.even, op.in_turn, begin, static_cast<Real>(op.factor)});
  const GivenOut before = op.accumulate ? GivenOut{data_of<std::int32_t>(bound.reads[2]),
                                                   data_of<std::int32_t>(bound.reads[3])}
                                        : GivenOut{};
  const ExpertSlotBody<Real> slots{chosen,
                                   scores,
                                   data_of<std::int32_t>(bound.writes[2]),
                                   offsets,
                                   data_of<std::int32_t>(bound.writes[4]),
                                   data_of<std::int32_t>(bound.writes[5]),
                                   before,
                                   tokens,
                                   begin,
                                   begin + count,
                                   op.capacity_groups,
                                   op.capacity.value_or(tokens),
                                   op.experts,
                                   op.choices,
                                   op.drop};
  const bool in_tiles = op.capacity_groups == 1 && op.drop != Drop::probability;
  if (!in_tiles || !launch_slot_tiles(exec, slots)) exec.rows(op.experts, count, slots);
  exec.rows(1, op.experts, OffsetBody{offsets, op.experts});
}

template <class Real, class Exec>
void launch(Exec& exec, const SelectExpertsGradient& op, const BoundOp& bound) {
  const View& d_scores = bound.writes[0];
  exec.rows(d_scores.rows, op.experts,
            ExpertChoiceGradientBody<Real>{
                data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                data_of<std::int32_t>(bound.reads[2]), data_of<Real>(bound.reads[3]),
                data_of<Real>(d_scores), op.experts, op.choices, op.normalize,
                static_cast<Real>(op.factor)});
}

}  // namespace moe
