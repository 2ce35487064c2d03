#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Where the logits of slots lie, and the rows of the masks; see ops/group_gate.h.
struct SlotLayout {
  std::int64_t width;                  ///< columns of the logits: experts * slots
  std::int64_t slots, groups, tokens;  ///< tokens of a group

  /// The group and the column of logits that belong to a row of a mask.
  MOE_BODY std::int64_t group_of(std::int64_t row) const { return row / slots % groups; }
  MOE_BODY std::int64_t column_of(std::int64_t row) const {
    return row / (groups * slots) * slots + row % slots;
  }
  /// The row of a mask that belongs to a column of logits in a group.
  MOE_BODY std::int64_t row_of(std::int64_t column, std::int64_t group) const {
    return (column / slots * groups + group) * slots + column % slots;
  }
};

/// Softmax over the tokens of a slot. A team per row of the mask.
template <class Stored>
struct SoftDispatchBody {
  using Real = Wide<Stored>;
  const Real* logits;
  Stored* dispatch;
  SlotLayout layout;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int64_t stride = layout.width, n = layout.tokens;
    const Real* in = logits + layout.group_of(row) * n * stride + layout.column_of(row);
    Stored* out = dispatch + row * n;
    const Real largest = team.max(n, [=](std::int64_t i) { return in[i * stride]; });
    const Real sum = team.sum(n, [=](std::int64_t i) {
      const Real value = exponential(in[i * stride] - largest);
      out[i] = value;
      return value;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(n, [=](std::int64_t i) { out[i] = out[i] * inverse; });
  }
};

/// Softmax over the slots of a token. A team per token.
template <class Stored>
struct SoftCombineBody {
  using Real = Wide<Stored>;
  const Real* logits;
  Stored* combine;
  SlotLayout layout;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const SlotLayout at = layout;
    const std::int64_t group = token / at.tokens;
    const Real* in = logits + token * at.width;
    Stored* out = combine + token % at.tokens;
    const Real largest = team.max(at.width, [=](std::int64_t c) { return in[c]; });
    const Real sum = team.sum(at.width, [=](std::int64_t c) {
      const Real value = exponential(in[c] - largest);
      out[at.row_of(c, group) * at.tokens] = value;
      return value;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(at.width, [=](std::int64_t c) {
      Stored& value = out[at.row_of(c, group) * at.tokens];
      value = value * inverse;
    });
  }
};

/// d_logit = D (dD - sum over the tokens of D dD). A team per row of the mask.
template <class Stored>
struct SoftDispatchGradientBody {
  using Real = Wide<Stored>;
  const Stored* d_dispatch;
  const Stored* dispatch;
  Real* d_logits;
  SlotLayout layout;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int64_t stride = layout.width, n = layout.tokens;
    const Stored* dy = d_dispatch + row * n;
    const Stored* y = dispatch + row * n;
    Real* out = d_logits + layout.group_of(row) * n * stride + layout.column_of(row);
    const Real dot = team.sum(n, [=](std::int64_t i) { return y[i] * dy[i]; });
    team.for_each(n, [=](std::int64_t i) { out[i * stride] = y[i] * (dy[i] - dot); });
  }
};

/// d_logit += C (dC - sum over the slots of C dC). A team per token.
template <class Stored>
struct SoftCombineGradientBody {
  using Real = Wide<Stored>;
  const Stored* d_combine;
  const Stored* combine;
  Real* d_logits;
  SlotLayout layout;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const SlotLayout at = layout;
    const std::int64_t group = token / at.tokens;
    const Stored* dy = d_combine + token % at.tokens;
    const Stored* y = combine + token % at.tokens;
    Real* out = d_logits + token * at.width;
    const auto place = [=](std::int64_t c) { return at.row_of(c, group) * at.tokens; };
    const Real dot = team.sum(at.width, [=](std::int64_t c) { return y[place(c)] * dy[place(c)]; });
    team.for_each(at.width, [=](std::int64_t c) { out[c] += y[place(c)] * (dy[place(c)] - dot); });
  }
};

/// Offsets and demand where every expert has the same number of rows on every rank. One element per
/// expert.
struct EvenSlotsBody {
  std::int32_t* offsets;
  std::int32_t* demand;
  std::int64_t rows;  ///< rows of each expert on this rank

  MOE_BODY void operator()(std::int64_t expert) const {
    if (expert == 0) offsets[0] = 0;
    offsets[expert + 1] = static_cast<std::int32_t>((expert + 1) * rows);
    demand[expert] = static_cast<std::int32_t>(rows);
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const SoftSlots& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  const View& dispatch = bound.writes[0];
  const SlotLayout layout{logits.columns, op.slots, op.groups, logits.rows / op.groups};
  const auto* in = data_of<Wide<Stored>>(logits);
  exec.rows(dispatch.rows, dispatch.columns,
            SoftDispatchBody<Stored>{in, data_of<Stored>(dispatch), layout});
  exec.rows(logits.rows, logits.columns,
            SoftCombineBody<Stored>{in, data_of<Stored>(bound.writes[1]), layout});
  exec.elements(op.experts,
                EvenSlotsBody{data_of<std::int32_t>(bound.writes[2]),
                              data_of<std::int32_t>(bound.writes[3]), op.groups * op.slots});
}

template <class Stored, class Exec>
void launch(Exec& exec, const SoftSlotsGradient& op, const BoundOp& bound) {
  const View& dispatch = bound.reads[2];
  const View& d_logits = bound.writes[0];
  const SlotLayout layout{d_logits.columns, op.slots, op.groups, d_logits.rows / op.groups};
  auto* out = data_of<Wide<Stored>>(d_logits);
  exec.rows(dispatch.rows, dispatch.columns,
            SoftDispatchGradientBody<Stored>{data_of<Stored>(bound.reads[0]),
                                             data_of<Stored>(dispatch), out, layout});
  exec.rows(d_logits.rows, d_logits.columns,
            SoftCombineGradientBody<Stored>{data_of<Stored>(bound.reads[1]),
                                            data_of<Stored>(bound.reads[3]), out, layout});
}

}  // namespace moe
