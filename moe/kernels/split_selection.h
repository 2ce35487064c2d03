#pragma once

#include "moe/kernels/select_experts.h"

namespace moe {

/// Finds the copies of an expert that belong to this part of the batch, and their slots. A team per
/// expert. Writes offsets[expert + 1] = copies kept (summed up later), and demand[expert] of this
/// part and those before it.
struct SplitSelectionBody {
  const std::int32_t* chosen;
  const std::int32_t* given;  ///< slots in the whole batch
  std::int32_t* slots;
  std::int32_t* offsets;
  std::int32_t* demand;
  const std::int32_t* demand_before;  ///< demand of the parts before; null for the first part
  std::int64_t tokens;
  int choices;
  bool drops;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    const std::int32_t* choice_of = chosen;
    const std::int32_t* slot_before = given;
    std::int32_t* slot_of = slots;
    const std::int64_t k = choices;
    // A token asks an expert for one copy at most.
    const auto copy_of = [=](std::int64_t t) {
      for (std::int64_t i = t * k; i < (t + 1) * k; ++i) {
        if (choice_of[i] == expert) return i;
      }
      return std::int64_t{-1};
    };
    const std::int32_t kept = team.scan(
        tokens,
        [=](std::int64_t t) {
          const std::int64_t i = copy_of(t);
          return static_cast<std::int32_t>(i >= 0 && slot_before[i] >= 0);
        },
        [=](std::int64_t t, std::int32_t place) {
          const std::int64_t i = copy_of(t);
          if (i >= 0) slot_of[i] = slot_before[i] >= 0 ? place : -1;
        });
    std::int32_t asked = kept;
    if (drops) {
      asked = team.sum(tokens,
                       [=](std::int64_t t) { return static_cast<std::int32_t>(copy_of(t) >= 0); });
    }
    if (!team.leader()) return;
    offsets[expert + 1] = kept;
    demand[expert] = (demand_before != nullptr ? demand_before[expert] : 0) + asked;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SplitSelection& op, const BoundOp& bound) {
  const std::int64_t tokens = bound.reads[0].rows;
  std::int32_t* offsets = data_of<std::int32_t>(bound.writes[1]);
  exec.rows(op.experts, tokens,
            SplitSelectionBody{data_of<std::int32_t>(bound.reads[0]),
                               data_of<std::int32_t>(bound.reads[1]),
                               data_of<std::int32_t>(bound.writes[0]), offsets,
                               data_of<std::int32_t>(bound.writes[2]),
                               op.accumulate ? data_of<std::int32_t>(bound.reads[2]) : nullptr,
                               tokens, op.choices, op.drops});
  exec.rows(1, 1, OffsetBody{offsets, op.experts});
}

}  // namespace moe
