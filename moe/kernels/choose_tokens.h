#pragma once

#include <cstdint>

#include "moe/kernels/select_experts.h"

namespace moe {

/// Chooses the tokens that an expert takes. A team per expert.
///
/// The c-th largest score of a group is found bit by bit, as the largest integer that at least c
/// scores reach. All tokens with a larger score are taken, then the first of those that equal it.
template <class Real>
struct ChooseTokensBody {
  static constexpr bool kFewLongRows = true;
  const Real* scores;
  std::int32_t* chosen;
  Real* weights;
  std::int32_t* slots;
  std::int32_t* offsets;
  std::int32_t* demand;
  std::int64_t tokens, experts, groups, capacity;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    using Bits = decltype(ordered_bits(Real()));
    const std::int64_t stride = experts, most = capacity;
    const std::int64_t size = tokens / groups;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t begin = group * size * stride + expert;
      const Real* score = scores + begin;
      std::int32_t* slot = slots + begin;
      const auto bits_of = [=](std::int64_t t) { return ordered_bits(score[t * stride]); };
      Bits least = 0;
      for (Bits bit = Bits{1} << (8 * sizeof(Bits) - 1); bit != 0; bit >>= 1) {
        const Bits candidate = least | bit;
        const std::int64_t reached = team.sum(size, [=](std::int64_t t) {
          return static_cast<std::int64_t>(bits_of(t) >= candidate ? 1 : 0);
        });
        if (reached >= most) least = candidate;
      }
      const std::int64_t above = team.sum(size, [=](std::int64_t t) {
        return static_cast<std::int64_t>(bits_of(t) > least ? 1 : 0);
      });
      team.scan(
          size, [=](std::int64_t t) { return static_cast<std::int32_t>(bits_of(t) == least); },
          [=](std::int64_t t, std::int32_t place) {
            const Bits bits = bits_of(t);
            slot[t * stride] = bits > least || (bits == least && above + place < most) ? 0 : -1;
          });
      team.sync();
      const auto before = static_cast<std::int32_t>(group * most);
      team.scan(
          size, [=](std::int64_t t) { return static_cast<std::int32_t>(slot[t * stride] >= 0); },
          [=](std::int64_t t, std::int32_t place) {
            if (slot[t * stride] >= 0) slot[t * stride] = before + place;
          });
      std::int32_t* own = chosen + begin;
      Real* weight = weights + begin;
      team.for_each(size, [=](std::int64_t t) {
        own[t * stride] = static_cast<std::int32_t>(expert);
        weight[t * stride] = score[t * stride];
      });
    }
    if (team.leader()) {
      offsets[expert + 1] = static_cast<std::int32_t>(groups * most);
      demand[expert] = static_cast<std::int32_t>(groups * most);
    }
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const ChooseTokens& op, const BoundOp& bound) {
  const View& scores = bound.reads[0];
  std::int32_t* offsets = data_of<std::int32_t>(bound.writes[3]);
  exec.rows(
      op.experts, scores.rows,
      ChooseTokensBody<Real>{data_of<Real>(scores), data_of<std::int32_t>(bound.writes[0]),
                             data_of<Real>(bound.writes[1]), data_of<std::int32_t>(bound.writes[2]),
                             offsets, data_of<std::int32_t>(bound.writes[4]), scores.rows,
                             op.experts, op.groups, op.slots});
  exec.rows(1, 1, OffsetBody{offsets, op.experts});
}

}  // namespace moe
