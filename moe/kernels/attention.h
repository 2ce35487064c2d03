#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Rows of one block of queries of some heads of one sequence: row r is query
/// begin + r mod queries of head r / queries, `head_stride` elements from head to head.
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

/// Addresses and sizes that forward and backward share. Queries go in blocks, so that GEMMs stop at
/// the block of the diagonal and a block of scores stays in the cache of a processor; the executor
/// says how many heads one call takes and how long a block is.
template <class Real>
struct AttentionShape {
  std::int64_t heads, length, width, sequences, head_width, row, block;
  Real scale;

  template <class Exec>
  static AttentionShape of(const Exec&, int heads, std::int64_t length, const View& qkv) {
    const std::int64_t width = qkv.columns / 3;
    if (heads < 1 || width % heads != 0 || length < 1 || qkv.rows % length != 0) {
      throw std::logic_error("attention: " + std::to_string(qkv.rows) + " tokens of width " +
                             std::to_string(width) + " in sequences of " + std::to_string(length) +
                             " and " + std::to_string(heads) + " heads");
    }
    const std::int64_t head_width = width / heads;
    return {heads,
            length,
            width,
            qkv.rows / length,
            head_width,
            3 * width,
            Exec::kQueryBlock,
            Real(1) / std::sqrt(static_cast<Real>(head_width))};
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const Attention& op, const BoundOp& bound) {
  const auto shape = AttentionShape<Real>::of(exec, op.heads, op.sequence_length, bound.reads[0]);
  const std::int64_t heads = shape.heads, length = shape.length, width = shape.width;
  const std::int64_t head_width = shape.head_width, row = shape.row, block = shape.block;
  const Real scale = shape.scale;
  const Real* qkv = data_of<Real>(bound.reads[0]);
  Real* y = data_of<Real>(bound.writes[0]);
  Real* probabilities = data_of<Real>(bound.writes[1]);
  const std::int64_t square = length * length;

  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    exec.batches(heads, [&, sequence](auto& part, std::int64_t head, std::int64_t batch) {
      const Real* q = qkv + sequence * length * row + head * head_width;
      const Real* k = q + width;
      const Real* v = k + width;
      Real* out = y + sequence * length * width + head * head_width;
      Real* p = probabilities + (sequence * heads + head) * square;
      for (std::int64_t begin = 0; begin < length; begin += block) {
        const std::int64_t queries = begin + block < length ? block : length - begin;
        const std::int64_t keys = begin + queries;
        part.gemm(Gemm<Real>{.m = queries,
                             .n = keys,
                             .k = head_width,
                             .a = q + begin * row,
                             .lda = row,
                             .b = k,
                             .ldb = row,
                             .transpose_b = true,
                             .c = p + begin * length,
                             .ldc = length,
                             .batch = batch,
                             .stride_a = head_width,
                             .stride_b = head_width,
                             .stride_c = square});
        part.rows(
            batch * queries, keys,
            CausalSoftmaxBody<Real>{p + begin * length, {begin, queries, length, square}, scale});
        part.gemm(Gemm<Real>{.m = queries,
                             .n = head_width,
                             .k = keys,
                             .a = p + begin * length,
                             .lda = length,
                             .b = v,
                             .ldb = row,
                             .c = out + begin * width,
                             .ldc = width,
                             .batch = batch,
                             .stride_a = square,
                             .stride_b = head_width,
                             .stride_c = head_width});
      }
    });
  }
}

/// Blocks go from the last to the first: the last touches every key and overwrites dK and dV, the
/// others add.
template <class Real, class Exec>
void launch(Exec& exec, const AttentionGradient& op, const BoundOp& bound) {
  const auto shape = AttentionShape<Real>::of(exec, op.heads, op.sequence_length, bound.reads[1]);
  const std::int64_t heads = shape.heads, length = shape.length, width = shape.width;
  const std::int64_t head_width = shape.head_width, row = shape.row, block = shape.block;
  const Real scale = shape.scale;
  const Real* dy = data_of<Real>(bound.reads[0]);
  const Real* qkv = data_of<Real>(bound.reads[1]);
  const Real* probabilities = data_of<Real>(bound.reads[2]);
  Real* d_qkv = data_of<Real>(bound.writes[0]);
  Real* scratch = data_of<Real>(bound.writes[1]);
  const std::int64_t square = length * length;

  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    exec.batches(heads, [&, sequence](auto& part, std::int64_t head, std::int64_t batch) {
      const std::int64_t first = sequence * length * row + head * head_width;
      const Real* q = qkv + first;
      const Real* k = q + width;
      const Real* v = k + width;
      Real* dq = d_qkv + first;
      Real* dk = dq + width;
      Real* dv = dk + width;
      const Real* d_out = dy + sequence * length * width + head * head_width;
      const Real* p = probabilities + (sequence * heads + head) * square;
      Real* d = scratch + head * square;  // one block of queries: [queries, length]
      for (std::int64_t begin = (length - 1) / block * block; begin >= 0; begin -= block) {
        const std::int64_t queries = begin + block < length ? block : length - begin;
        const std::int64_t keys = begin + queries;
        const bool accumulate = keys < length;
        part.gemm(Gemm<Real>{.m = queries,
                             .n = keys,
                             .k = head_width,
                             .a = d_out + begin * width,
                             .lda = width,
                             .b = v,
                             .ldb = row,
                             .transpose_b = true,
                             .c = d,
                             .ldc = length,
                             .batch = batch,
                             .stride_a = head_width,
                             .stride_b = head_width,
                             .stride_c = square});
        part.gemm(Gemm<Real>{.m = keys,
                             .n = head_width,
                             .k = queries,
                             .a = p + begin * length,
                             .lda = length,
                             .transpose_a = true,
                             .b = d_out + begin * width,
                             .ldb = width,
                             .c = dv,
                             .ldc = row,
                             .accumulate = accumulate,
                             .batch = batch,
                             .stride_a = square,
                             .stride_b = head_width,
                             .stride_c = head_width});
        part.rows(batch * queries, keys,
                  CausalSoftmaxGradientBody<Real>{p + begin * length,
                                                  d,
                                                  {begin, queries, length, square},
                                                  {begin, queries, length, square},
                                                  keys,
                                                  scale});
        part.gemm(Gemm<Real>{.m = queries,
                             .n = head_width,
                             .k = keys,
                             .a = d,
                             .lda = length,
                             .b = k,
                             .ldb = row,
                             .c = dq + begin * row,
                             .ldc = row,
                             .batch = batch,
                             .stride_a = square,
                             .stride_b = head_width,
                             .stride_c = head_width});
        part.gemm(Gemm<Real>{.m = keys,
                             .n = head_width,
                             .k = queries,
                             .a = d,
                             .lda = length,
                             .transpose_a = true,
                             .b = q + begin * row,
                             .ldb = row,
                             .c = dk,
                             .ldc = row,
                             .accumulate = accumulate,
                             .batch = batch,
                             .stride_a = square,
                             .stride_b = head_width,
                             .stride_c = head_width});
      }
    });
  }
}

}  // namespace moe
