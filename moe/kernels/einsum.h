#pragma once

#include <algorithm>

#include "moe/kernels/gemm.h"
#include "moe/kernels/sent_rows.h"

namespace moe {

/// The mask's row of a copy: its weight in the column of its token, 0 elsewhere. A team per copy,
/// so that each row has one writer.
template <class Stored>
struct DispatchMaskBody {
  using Real = Wide<Stored>;
  SentRows rows;
  const Real* weights;  ///< nullptr: 1
  Stored* mask;
  std::int64_t tokens;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return;
    const std::int64_t own = copy / choices;
    const Real weight = weights == nullptr ? Real(1) : weights[copy];
    Stored* out = mask + row * tokens;
    team.for_each(tokens, [=](std::int64_t t) { out[t] = t == own ? weight : Real(0); });
  }
};

template <class Stored>
struct DispatchMaskGradientBody {
  using Real = Wide<Stored>;
  const Stored* d_mask;
  SentRows rows;
  Real* d_weights;
  std::int64_t tokens;
  int choices;

  MOE_BODY void operator()(std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    d_weights[copy] = row < 0 ? Real(0) : Real(d_mask[row * tokens + copy / choices]);
  }
};

/// Calls f(first row, rows, group) for the rows [begin, end) of a mask, block by block.
template <class F>
void for_each_mask_block(std::int64_t begin, std::int64_t end, int groups, std::int64_t slots,
                         F f) {
  if (groups == 1) {
    f(begin, end - begin, std::int64_t{0});
    return;
  }
  while (begin < end) {
    const std::int64_t stop = std::min(end, (begin / slots + 1) * slots);
    f(begin, stop - begin, begin / slots % groups);
    begin = stop;
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const DispatchMask& op, const BoundOp& bound) {
  const View& expert = bound.reads[0];
  const View& mask = bound.writes[0];
  const auto* weights = bound.reads.size() > 3 ? data_of<Wide<Stored>>(bound.reads[3]) : nullptr;
  exec.rows(count_of(expert), mask.columns,
            DispatchMaskBody<Stored>{sent_rows_of(bound, 0, 1, bound.op->chunk), weights,
                                     data_of<Stored>(mask), mask.columns, op.choices});
}

template <class Stored, class Exec>
void launch(Exec& exec, const DispatchMaskGradient& op, const BoundOp& bound) {
  const View& d_mask = bound.reads[0];
  exec.elements(count_of(bound.writes[0]),
                DispatchMaskGradientBody<Stored>{data_of<Stored>(d_mask), sent_rows_of(bound, 1, 2),
                                                 data_of<Wide<Stored>>(bound.writes[0]),
                                                 d_mask.columns, op.choices});
}

template <class Stored, class Exec>
void launch(Exec& exec, const EinsumRows& op, const BoundOp& bound) {
  const std::int64_t tokens = bound.reads[0].columns, width = bound.writes[0].columns;
  const Stored* mask = data_of<Stored>(bound.reads[0]);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* rows = data_of<Stored>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    for_each_mask_block(range.begin, range.begin + range.rows, op.groups, op.slots,
                        [&](std::int64_t first, std::int64_t count, std::int64_t group) {
                          exec.gemm(Gemm<Stored>{.m = count,
                                                 .n = width,
                                                 .k = tokens,
                                                 .a = mask + first * tokens,
                                                 .lda = tokens,
                                                 .b = x + group * tokens * width,
                                                 .ldb = width,
                                                 .c = rows + first * width,
                                                 .ldc = width});
                        });
  }
}

/// The blocks of a group are added up, expert by expert.
template <class Stored, class Exec>
void launch(Exec& exec, const EinsumTokens& op, const BoundOp& bound) {
  const View& mask = bound.reads[0];
  const std::int64_t tokens = mask.columns, width = bound.writes[0].columns;
  const Stored* rows = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for_each_mask_block(
      0, mask.rows, op.groups, op.slots,
      [&](std::int64_t first, std::int64_t count, std::int64_t group) {
        exec.gemm(Gemm<Stored>{.m = tokens,
                               .n = width,
                               .k = count,
                               .a = data_of<Stored>(mask) + first * tokens,
                               .lda = tokens,
                               .transpose_a = true,
                               .b = rows + first * width,
                               .ldb = width,
                               .c = y + group * tokens * width,
                               .ldc = width,
                               .accumulate = first >= op.groups * op.slots && op.groups > 1});
      });
}

template <class Stored, class Exec>
void launch(Exec& exec, const EinsumMask& op, const BoundOp& bound) {
  const View& rows = bound.reads[0];
  const std::int64_t tokens = bound.writes[0].columns, width = rows.columns;
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* d_mask = data_of<Stored>(bound.writes[0]);
  for_each_mask_block(0, rows.rows, op.groups, op.slots,
                      [&](std::int64_t first, std::int64_t count, std::int64_t group) {
                        exec.gemm(Gemm<Stored>{.m = count,
                                               .n = tokens,
                                               .k = width,
                                               .a = data_of<Stored>(rows) + first * width,
                                               .lda = width,
                                               .b = x + group * tokens * width,
                                               .ldb = width,
                                               .transpose_b = true,
                                               .c = d_mask + first * tokens,
                                               .ldc = tokens});
                      });
}

}  // namespace moe
