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

/// Scores are stored as other activations are, in the place of the probabilities.
/// scores -> softmax(scale scores) over the keys up to the query itself, zero beyond, in place. A
/// team per query.
template <class Stored>
struct CausalSoftmaxBody {
  using Real = Wide<Stored>;
  Stored* scores;
  QueryRows rows;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    Stored* p = scores + rows.offset(row);
    const std::int64_t keys = rows.query(row) + 1;
    const Real factor = scale;
    const Real largest = team.max(keys, [=](std::int64_t i) { return Real(p[i]); });
    team.sync();
    const Real sum = team.sum(keys, [=](std::int64_t i) {
      const Real e = exponential((p[i] - largest) * factor);
      p[i] = e;
      return e;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(keys, [=](std::int64_t i) { p[i] = p[i] * inverse; });
    team.for_each(rows.length - keys, [=](std::int64_t i) { p[keys + i] = Stored(0); });
  }
};

/// d_probabilities -> gradient of the scores, in place: scale p (dp - sum p dp), zero beyond the
/// diagonal up to column `width`. A team per query.
template <class Stored>
struct CausalSoftmaxGradientBody {
  using Real = Wide<Stored>;
  const Stored* probabilities;
  Stored* gradient;
  QueryRows probability_rows, gradient_rows;
  std::int64_t width;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Stored* p = probabilities + probability_rows.offset(row);
    Stored* d = gradient + gradient_rows.offset(row);
    const std::int64_t keys = gradient_rows.query(row) + 1;
    const Real factor = scale;
    const Real dot = team.sum(keys, [=](std::int64_t i) { return p[i] * d[i]; });
    team.sync();
    team.for_each(keys, [=](std::int64_t i) { d[i] = factor * p[i] * (d[i] - dot); });
    team.for_each(width - keys, [=](std::int64_t i) { d[keys + i] = Stored(0); });
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

template <class Stored, class Exec>
void launch(Exec& exec, const Attention& op, const BoundOp& bound) {
  const auto s = AttentionShape<Wide<Stored>>::of(exec, op, bound.reads[0]);
  const Stored* qkv = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  Stored* probabilities = data_of<Stored>(bound.writes[1]);

  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    exec.batches(
        s.key_value_heads, [&, sequence](auto& part, std::int64_t shared, std::int64_t batch) {
          const Stored* tokens = qkv + sequence * s.length * s.row;
          const Stored* k = tokens + s.width + shared * s.head_width;
          const Stored* v = k + s.key_value_heads * s.head_width;
          for (std::int64_t begin = 0; begin < s.length; begin += s.block) {
            const std::int64_t queries = begin + s.block < s.length ? s.block : s.length - begin;
            const std::int64_t keys = begin + queries;
            for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
              Stored* p = probabilities + (sequence * s.heads + head) * s.square + begin * s.length;
              part.gemm(Gemm<Stored>{.m = queries,
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
                        CausalSoftmaxBody<Stored>{
                            p, {begin, queries, s.length, s.probability_stride}, s.scale});
              part.gemm(Gemm<Stored>{
                  .m = queries,
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

/// Where the gradients of k and v are added up: in d_qkv, or in [L, 2 W] of writes[2] for every
/// head of keys and values where d_qkv is stored in fewer bits.
template <class Stored>
struct KeyValueSums {
  using Real = Wide<Stored>;
  static constexpr bool kApart = !std::is_same_v<Stored, Real>;
  Real* base;
  std::int64_t row, stride;  ///< elements from token to token, and from head to head
  std::int64_t head_width;

  static KeyValueSums of(const AttentionShape<Real>& s, const BoundOp& bound) {
    const View& target = bound.writes.at(kApart ? 2 : 0);
    if constexpr (kApart) {
      return {data_of<Real>(target), 2 * s.head_width, 2 * s.head_width * s.length, s.head_width};
    } else {
      return {data_of<Real>(target), s.row, s.head_width, s.head_width};
    }
  }

  struct Head {
    Real *dk, *dv;
  };
  /// `keys_at` and `values_at` are places in d_qkv.
  Head at(std::int64_t keys_at, std::int64_t values_at, std::int64_t head) const {
    if constexpr (kApart) {
      return {base + head * stride, base + head * stride + head_width};
    } else {
      return {base + keys_at, base + values_at};
    }
  }
};

/// Rounds the sums of several heads, from the first head's on. A team per head and token.
template <class Stored>
struct StoreKeyValueSumsBody {
  const Wide<Stored>* sums;
  Stored* dk;
  Stored* dv;
  std::int64_t head_width, length, row;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t i) const {
    const Wide<Stored>* in = sums + i * 2 * head_width;
    const std::int64_t width = head_width, at = i / length * width + i % length * row;
    Stored *keys = dk + at, *values = dv + at;
    team.for_each(width, [=](std::int64_t c) {
      keys[c] = in[c];
      values[c] = in[width + c];
    });
  }
};

/// Blocks run from the last to the first. The last block touches every key, so its first head
/// overwrites dK and dV; all others add to them, in a tensor of their own where they are stored in
/// fewer bits than sums need.
template <class Stored, class Exec>
void launch(Exec& exec, const AttentionGradient& op, const BoundOp& bound) {
  using SumGemm = Gemm<Stored, Wide<Stored>>;
  const auto s = AttentionShape<Wide<Stored>>::of(exec, op, bound.reads[1]);
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* qkv = data_of<Stored>(bound.reads[1]);
  const Stored* probabilities = data_of<Stored>(bound.reads[2]);
  Stored* d_qkv = data_of<Stored>(bound.writes[0]);
  Stored* scratch = data_of<Stored>(bound.writes[1]);
  const auto sums = KeyValueSums<Stored>::of(s, bound);

  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
    exec.batches(s.key_value_heads, [&, sequence](auto& part, std::int64_t shared,
                                                  std::int64_t batch) {
      const std::int64_t first = sequence * s.length * s.row;
      const std::int64_t keys_at = first + s.width + shared * s.head_width;
      const std::int64_t values_at = keys_at + s.key_value_heads * s.head_width;
      const Stored* k = qkv + keys_at;
      const Stored* v = qkv + values_at;
      const auto at = sums.at(keys_at, values_at, shared);
      Stored* d = scratch + shared * s.square;  // one block of queries: [queries, length]
      for (std::int64_t begin = (s.length - 1) / s.block * s.block; begin >= 0; begin -= s.block) {
        const std::int64_t queries = begin + s.block < s.length ? s.block : s.length - begin;
        const std::int64_t keys = begin + queries;
        for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
          const bool accumulate = keys < s.length || head > shared * s.sharing;
          const std::int64_t query_at = first + begin * s.row + head * s.head_width;
          const Stored* d_out = dy + (sequence * s.length + begin) * s.width + head * s.head_width;
          const Stored* p =
              probabilities + (sequence * s.heads + head) * s.square + begin * s.length;
          part.gemm(Gemm<Stored>{.m = queries,
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
          part.gemm(SumGemm{.m = keys,
                            .n = s.head_width,
                            .k = queries,
                            .a = p,
                            .lda = s.length,
                            .transpose_a = true,
                            .b = d_out,
                            .ldb = s.width,
                            .c = at.dv,
                            .ldc = sums.row,
                            .accumulate = accumulate,
                            .batch = batch,
                            .stride_a = s.probability_stride,
                            .stride_b = s.sharing * s.head_width,
                            .stride_c = sums.stride});
          part.rows(
              batch * queries, keys,
              CausalSoftmaxGradientBody<Stored>{p,
                                                d,
                                                {begin, queries, s.length, s.probability_stride},
                                                {begin, queries, s.length, s.square},
                                                keys,
                                                s.scale});
          part.gemm(Gemm<Stored>{.m = queries,
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
          part.gemm(SumGemm{.m = keys,
                            .n = s.head_width,
                            .k = queries,
                            .a = d,
                            .lda = s.length,
                            .transpose_a = true,
                            .b = qkv + query_at,
                            .ldb = s.row,
                            .c = at.dk,
                            .ldc = sums.row,
                            .accumulate = accumulate,
                            .batch = batch,
                            .stride_a = s.square,
                            .stride_b = s.sharing * s.head_width,
                            .stride_c = sums.stride});
        }
      }
      if constexpr (!std::is_same_v<Stored, Wide<Stored>>) {
        part.rows(batch * s.length, 2 * s.head_width,
                  StoreKeyValueSumsBody<Stored>{at.dk, d_qkv + keys_at, d_qkv + values_at,
                                                s.head_width, s.length, s.row});
      }
    });
  }
}

}  // namespace moe
