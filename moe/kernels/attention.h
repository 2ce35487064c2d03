#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// The rows of a block of queries, of several heads of one sequence. Row r is query begin + r mod
/// queries of head r / queries; heads lie `head_stride` elements apart.
struct QueryRows {
  std::int64_t begin, queries, length, head_stride;

  MOE_BODY std::int64_t query(std::int64_t row) const { return begin + row % queries; }
  MOE_BODY std::int64_t offset(std::int64_t row) const {
    return row / queries * head_stride + row % queries * length;
  }
};

/// scores -> softmax(scale scores) over the keys up to the query itself, zero beyond, in place. A
/// team per query.
template <class Real>
struct CausalSoftmaxBody {
  Real* scores;
  QueryRows rows;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    Real* p = scores + rows.offset(row);
    const std::int64_t keys = rows.query(row) + 1;
    const Real factor = scale;
    const Real largest = team.max(keys, [=](std::int64_t i) { return p[i]; });
    team.sync();
    const Real sum = team.sum(keys, [=](std::int64_t i) {
      const Real e = exponential((p[i] - largest) * factor);
      p[i] = e;
      return e;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(keys, [=](std::int64_t i) { p[i] *= inverse; });
    team.for_each(rows.length - keys, [=](std::int64_t i) { p[keys + i] = 0; });
  }
};

/// d_probabilities -> gradient of the scores, in place: scale p (dp - sum p dp), zero beyond the
/// diagonal up to column `width`. A team per query.
template <class Real>
struct CausalSoftmaxGradientBody {
  const Real* probabilities;
  Real* gradient;
  QueryRows probability_rows, gradient_rows;
  std::int64_t width;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* p = probabilities + probability_rows.offset(row);
    Real* d = gradient + gradient_rows.offset(row);
    const std::int64_t keys = gradient_rows.query(row) + 1;
    const Real factor = scale;
    const Real dot = team.sum(keys, [=](std::int64_t i) { return p[i] * d[i]; });
    team.sync();
    team.for_each(keys, [=](std::int64_t i) { d[i] = factor * p[i] * (d[i] - dot); });
    team.for_each(width - keys, [=](std::int64_t i) { d[keys + i] = 0; });
  }
};

/// Sizes that forward and backward share. Queries are computed in blocks, so that GEMMs stop at the
/// block of the diagonal and a block of scores stays in the cache of a processor. The executor
/// decides how many heads one call takes and how long a block is. A call takes heads of k and v,
/// and for each the heads of q that share it, one after the other; the sums for a head of k and v
/// so have one owner.
template <class Real>
struct AttentionShape {
  std::int64_t heads, key_value_heads, sharing, length, sequences, head_width, block;
  std::int64_t width, row;  ///< elements of a row of y and of qkv
  /// Elements of one head, and of all heads that share k and v.
  std::int64_t square, probability_stride;
  Real scale;

  template <class Exec, class Op>
  static AttentionShape of(const Exec&, const Op& op, const View& qkv) {
    const std::int64_t heads = op.heads, key_value_heads = op.key_value_heads,
                       length = op.sequence_length, parts = heads + 2 * key_value_heads;
    if (heads < 1 || key_value_heads < 1 || heads % key_value_heads != 0 || length < 1 ||
        qkv.columns % parts != 0 || qkv.rows % length != 0) {
      throw std::logic_error("attention: " + std::to_string(qkv.rows) + " tokens of " +
                             std::to_string(qkv.columns) + " columns in sequences of " +
                             std::to_string(length) + ", " + std::to_string(heads) + " heads and " +
                             std::to_string(key_value_heads) + " of keys and values");
    }
    const std::int64_t head_width = qkv.columns / parts, sharing = heads / key_value_heads;
    return {heads,
            key_value_heads,
            sharing,
            length,
            qkv.rows / length,
            head_width,
            Exec::kQueryBlock,
            heads * head_width,
            qkv.columns,
            length * length,
            sharing * length * length,
            Real(1) / std::sqrt(static_cast<Real>(head_width))};
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const Attention& op, const BoundOp& bound) {
  const auto s = AttentionShape<Real>::of(exec, op, bound.reads[0]);
  const Real* qkv = data_of<Real>(bound.reads[0]);
  Real* y = data_of<Real>(bound.writes[0]);
  Real* probabilities = data_of<Real>(bound.writes[1]);

  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    exec.batches(
        s.key_value_heads, [&, sequence](auto& part, std::int64_t shared, std::int64_t batch) {
          const Real* tokens = qkv + sequence * s.length * s.row;
          const Real* k = tokens + s.width + shared * s.head_width;
          const Real* v = k + s.key_value_heads * s.head_width;
          for (std::int64_t begin = 0; begin < s.length; begin += s.block) {
            const std::int64_t queries = begin + s.block < s.length ? s.block : s.length - begin;
            const std::int64_t keys = begin + queries;
            for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
              Real* p = probabilities + (sequence * s.heads + head) * s.square + begin * s.length;
              part.gemm(Gemm<Real>{.m = queries,
                                   .n = keys,
                                   .k = s.head_width,
                                   .a = tokens + begin * s.row + head * s.head_width,
                                   .lda = s.row,
                                   .b = k,
                                   .ldb = s.row,
                                   .transpose_b = true,
                                   .c = p,
                                   .ldc = s.length,
                                   .batch = batch,
                                   .stride_a = s.sharing * s.head_width,
                                   .stride_b = s.head_width,
                                   .stride_c = s.probability_stride});
              part.rows(batch * queries, keys,
                        CausalSoftmaxBody<Real>{
                            p, {begin, queries, s.length, s.probability_stride}, s.scale});
              part.gemm(
                  Gemm<Real>{.m = queries,
                             .n = s.head_width,
                             .k = keys,
                             .a = p,
                             .lda = s.length,
                             .b = v,
                             .ldb = s.row,
                             .c = y + (sequence * s.length + begin) * s.width + head * s.head_width,
                             .ldc = s.width,
                             .batch = batch,
                             .stride_a = s.probability_stride,
                             .stride_b = s.head_width,
                             .stride_c = s.sharing * s.head_width});
            }
          }
        });
  }
}

/// Blocks run from the last to the first. The last block touches every key, so its first head
/// overwrites dK and dV; all others add to them.
template <class Real, class Exec>
void launch(Exec& exec, const AttentionGradient& op, const BoundOp& bound) {
  const auto s = AttentionShape<Real>::of(exec, op, bound.reads[1]);
  const Real* dy = data_of<Real>(bound.reads[0]);
  const Real* qkv = data_of<Real>(bound.reads[1]);
  const Real* probabilities = data_of<Real>(bound.reads[2]);
  Real* d_qkv = data_of<Real>(bound.writes[0]);
  Real* scratch = data_of<Real>(bound.writes[1]);

  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    exec.batches(s.key_value_heads, [&, sequence](auto& part, std::int64_t shared,
                                                  std::int64_t batch) {
      const std::int64_t first = sequence * s.length * s.row;
      const std::int64_t keys_at = first + s.width + shared * s.head_width;
      const std::int64_t values_at = keys_at + s.key_value_heads * s.head_width;
      const Real* k = qkv + keys_at;
      const Real* v = qkv + values_at;
      Real* dk = d_qkv + keys_at;
      Real* dv = d_qkv + values_at;
      Real* d = scratch + shared * s.square;  // one block of queries: [queries, length]
      for (std::int64_t begin = (s.length - 1) / s.block * s.block; begin >= 0; begin -= s.block) {
        const std::int64_t queries = begin + s.block < s.length ? s.block : s.length - begin;
        const std::int64_t keys = begin + queries;
        for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
          const bool accumulate = keys < s.length || head > shared * s.sharing;
          const std::int64_t query_at = first + begin * s.row + head * s.head_width;
          const Real* d_out = dy + (sequence * s.length + begin) * s.width + head * s.head_width;
          const Real* p = probabilities + (sequence * s.heads + head) * s.square + begin * s.length;
          part.gemm(Gemm<Real>{.m = queries,
                               .n = keys,
                               .k = s.head_width,
                               .a = d_out,
                               .lda = s.width,
                               .b = v,
                               .ldb = s.row,
                               .transpose_b = true,
                               .c = d,
                               .ldc = s.length,
                               .batch = batch,
                               .stride_a = s.sharing * s.head_width,
                               .stride_b = s.head_width,
                               .stride_c = s.square});
          part.gemm(Gemm<Real>{.m = keys,
                               .n = s.head_width,
                               .k = queries,
                               .a = p,
                               .lda = s.length,
                               .transpose_a = true,
                               .b = d_out,
                               .ldb = s.width,
                               .c = dv,
                               .ldc = s.row,
                               .accumulate = accumulate,
                               .batch = batch,
                               .stride_a = s.probability_stride,
                               .stride_b = s.sharing * s.head_width,
                               .stride_c = s.head_width});
          part.rows(
              batch * queries, keys,
              CausalSoftmaxGradientBody<Real>{p,
                                              d,
                                              {begin, queries, s.length, s.probability_stride},
                                              {begin, queries, s.length, s.square},
                                              keys,
                                              s.scale});
          part.gemm(Gemm<Real>{.m = queries,
                               .n = s.head_width,
                               .k = keys,
                               .a = d,
                               .lda = s.length,
                               .b = k,
                               .ldb = s.row,
                               .c = d_qkv + query_at,
                               .ldc = s.row,
                               .batch = batch,
                               .stride_a = s.square,
                               .stride_b = s.head_width,
                               .stride_c = s.sharing * s.head_width});
          part.gemm(Gemm<Real>{.m = keys,
                               .n = s.head_width,
                               .k = queries,
                               .a = d,
                               .lda = s.length,
                               .transpose_a = true,
                               .b = qkv + query_at,
                               .ldb = s.row,
                               .c = dk,
                               .ldc = s.row,
                               .accumulate = accumulate,
                               .batch = batch,
                               .stride_a = s.square,
                               .stride_b = s.sharing * s.head_width,
                               .stride_c = s.head_width});
        }
      }
    });
  }
}

}  // namespace moe
