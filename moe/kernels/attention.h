#pragma once

#include "moe/kernels/attention_tiles.h"
#include "moe/kernels/device.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Sizes and addresses that forward and backward share. Tiles run over blocks of queries and, for
/// each head of q, over the keys up to the diagonal. The executor decides how large a tile is and
/// how many heads of k and v one call takes. The heads of q that share keys and values follow one
/// another, so that the sums for a head of k and v have one owner.
template <class Stored>
struct AttentionShape {
  using Real = Wide<Stored>;
  static constexpr bool kNarrows = !std::is_same_v<Stored, Real>;

  std::int64_t heads, key_value_heads, sharing, length, sequences;
  std::int64_t head_width, value_width;
  std::int64_t query_width, width, row;  ///< elements of a row of q, of y and of qkv
  AttentionScratch scratch;
  std::int64_t scratch_stride;  ///< elements of the scratch from head to head of k and v
  Real scale;
  std::int64_t window;  ///< keys that a query sees

  template <class Exec, class Op>
  static AttentionShape of(const Exec&, const Op& op, const View& qkv, const View& scratch) {
    const std::int64_t heads = op.heads, key_value_heads = op.key_value_heads,
                       length = op.sequence_length;
    const HeadWidths widths =
        head_widths(qkv.columns, heads, key_value_heads, op.value_width, "attention");
    if (heads % key_value_heads != 0 || length < 1 || qkv.rows % length != 0) {
      throw std::logic_error("attention: " + std::to_string(qkv.rows) + " tokens of " +
                             std::to_string(qkv.columns) + " columns in sequences of " +
                             std::to_string(length) + ", " + std::to_string(heads) + " heads and " +
                             std::to_string(key_value_heads) + " of keys and values");
    }
    constexpr AttentionTile tile = Exec::kAttentionTile;
    static_assert(tile.keys % tile.queries == 0);
    const auto needed =
        AttentionScratch::of(tile, length, widths, kNarrows, std::is_same_v<Op, AttentionGradient>);
    if (scratch.rows < key_value_heads || scratch.columns < needed.elements) {
      throw std::logic_error("attention: a scratch of " + std::to_string(scratch.rows) + " x " +
                             std::to_string(scratch.columns) + " elements, needed are " +
                             std::to_string(key_value_heads) + " x " +
                             std::to_string(needed.elements));
    }
    return {heads,
            key_value_heads,
            heads / key_value_heads,
            length,
            qkv.rows / length,
            widths.keys,
            widths.values,
            heads * widths.keys,
            heads * widths.values,
            qkv.columns,
            needed,
            scratch.columns,
            scale_of_scores<Real>(op.scale, widths.keys),
            op.window > 0 ? op.window : length};
  }

  /// The first key of the first tile that the block of queries from `begin` on sees.
  std::int64_t first_tile(std::int64_t begin) const {
    const std::int64_t first = begin + 1 - window;
    return first > 0 ? first / scratch.tile.keys * scratch.tile.keys : 0;
  }
  /// The block of queries from `begin` on, and the first keys that it sees.
  TileRows tile(std::int64_t begin) const { return tile(begin, first_tile(begin)); }
  /// The same, and the keys from `first_key` on.
  TileRows tile(std::int64_t begin, std::int64_t first_key) const {
    const std::int64_t queries = smaller(scratch.tile.queries, length - begin);
    const std::int64_t keys = smaller(scratch.tile.keys, begin + queries - first_key);
    return {begin,   queries,     first_key,         keys,  scratch.row, scratch_stride, length,
            sharing, value_width, first_tile(begin), window};
  }
  /// Of a query of a head of a sequence, in log_sum_exp.
  std::int64_t statistic_at(std::int64_t sequence, std::int64_t head, std::int64_t query) const {
    return (sequence * heads + head) * length + query;
  }
  static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  /// The tile of scores (0) or of gradients (1) as activations are stored: the tile itself where
  /// they are stored in the wide type.
  Stored* stored_tile(Real* scratch_of_head, int which) const {
    if constexpr (kNarrows) {
      return reinterpret_cast<Stored*>(scratch_of_head + scratch.stored) +
             which * scratch.tile.queries * scratch.row;
    } else {
      return scratch_of_head + which * scratch.gradients;
    }
  }
  /// The sums of a block of queries, `of_head` columns of each: `target` itself where it is stored
  /// in the wide type.
  RowSums<Real> query_sums(Real* scratch_of_head, Stored* target, std::int64_t target_row,
                           std::int64_t of_head) const {
    if constexpr (kNarrows) {
      return {scratch_of_head + scratch.query_sums, of_head, scratch_stride};
    } else {
      return {target, target_row, sharing * of_head};
    }
  }
  /// Scores of a tile, or the same product of gradients: [queries, of_head] by [keys, of_head],
  /// transposed.
  Gemm<Stored, Real> scores(const TileRows& t, const Stored* a, std::int64_t lda, const Stored* b,
                            std::int64_t of_head, Real* c, std::int64_t batch) const {
    return {.m = t.queries,
            .n = t.keys,
            .k = of_head,
            .a = a,
            .lda = lda,
            .b = b + t.first_key * row,
            .ldb = row,
            .transpose_b = true,
            .c = c,
            .ldc = scratch.row,
            .batch = batch,
            .stride_a = sharing * of_head,
            .stride_b = of_head,
            .stride_c = scratch_stride};
  }
  /// Adds a tile times k or v to sums of its queries; the first tile overwrites them.
  Gemm<Stored, Real> sums_of_queries(const TileRows& t, const Stored* a, const Stored* b,
                                     std::int64_t of_head, const RowSums<Real>& c,
                                     std::int64_t batch) const {
    return {.m = t.queries,
            .n = of_head,
            .k = t.keys,
            .a = a,
            .lda = scratch.row,
            .b = b + t.first_key * row,
            .ldb = row,
            .c = c.base,
            .ldc = c.row,
            .accumulate = t.first_key > t.first_tile,
            .batch = batch,
            .stride_a = stride_of_stored(),
            .stride_b = of_head,
            .stride_c = c.stride};
  }
  /// Adds a tile, transposed, times q or dy to sums of its keys, or overwrites them.
  Gemm<Stored, Real> sums_of_keys(const TileRows& t, const Stored* a, const Stored* b,
                                  std::int64_t ldb, std::int64_t of_head, const RowSums<Real>& c,
                                  bool accumulate, std::int64_t batch) const {
    return {.m = t.keys,
            .n = of_head,
            .k = t.queries,
            .a = a,
            .lda = scratch.row,
            .transpose_a = true,
            .b = b,
            .ldb = ldb,
            .c = c.base + t.first_key * c.row,
            .ldc = c.row,
            .accumulate = accumulate,
            .batch = batch,
            .stride_a = stride_of_stored(),
            .stride_b = sharing * of_head,
            .stride_c = c.stride};
  }
  /// The sums of all keys, as query_sums().
  RowSums<Real> key_sums(Real* scratch_of_head, Stored* target) const {
    if constexpr (kNarrows) {
      return {scratch_of_head + scratch.key_sums, head_width, scratch_stride};
    } else {
      return {target, row, head_width};
    }
  }
  /// The sums of all values.
  RowSums<Real> value_sums(Real* scratch_of_head, Stored* target) const {
    if constexpr (kNarrows) {
      return {scratch_of_head + scratch.key_sums + length * head_width, value_width,
              scratch_stride};
    } else {
      return {target, row, value_width};
    }
  }
  /// Rounds these sums to their targets, where they are not there already.
  template <class Exec>
  void store_query_sums(Exec& exec, const RowSums<Real>& sums, std::int64_t count, Stored* to,
                        std::int64_t to_row, std::int64_t of_head, std::int64_t batch) const {
    if constexpr (kNarrows) {
      exec.rows(batch * count, of_head,
                StoreSumsBody<Stored>{sums.base, sums.stride, count, of_head, to, to_row,
                                      sharing * of_head});
    }
  }
  template <class Exec>
  void store_key_sums(Exec& exec, const RowSums<Real>& sums, Stored* to, std::int64_t of_head,
                      std::int64_t batch) const {
    if constexpr (kNarrows) {
      exec.rows(batch * length, of_head,
                StoreSumsBody<Stored>{sums.base, sums.stride, length, of_head, to, row, of_head});
    }
  }
  /// Elements from head to head of stored_tile().
  std::int64_t stride_of_stored() const {
    return scratch_stride * static_cast<std::int64_t>(sizeof(Real) / sizeof(Stored));
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Attention& op, const BoundOp& bound) {
  using Shape = AttentionShape<Stored>;
  using Real = typename Shape::Real;
  const auto s = Shape::of(exec, op, bound.reads[0], bound.writes[2]);
  const Stored* qkv = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  Real* log_sum_exp = data_of<Real>(bound.writes[1]);
  Real* scratch = data_of<Real>(bound.writes[2]);
  const Stored* sinks = bound.reads.size() > 1 ? data_of<Stored>(bound.reads[1]) : nullptr;

  exec.batches(s.key_value_heads, [&](auto& part, std::int64_t shared, std::int64_t batch) {
    Real* scores = scratch + shared * s.scratch_stride;
    Stored* p = s.stored_tile(scores, 0);
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      const Stored* tokens = qkv + sequence * s.length * s.row;
      const Stored* keys = tokens + s.query_width;
      const Stored* k = keys + shared * s.head_width;
      const Stored* v = keys + s.key_value_heads * s.head_width + shared * s.value_width;
      for (std::int64_t begin = 0; begin < s.length; begin += s.scratch.tile.queries) {
        for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
          const std::int64_t token = sequence * s.length + begin;
          Stored* out = y + token * s.width + head * s.value_width;
          const RowSums<Real> sums = s.query_sums(scores, out, s.width, s.value_width);
          TileRows tile = s.tile(begin);
          for (const std::int64_t end = begin + tile.queries; tile.first_key < end;
               tile = s.tile(begin, tile.first_key + s.scratch.tile.keys)) {
            part.gemm(s.scores(tile, tokens + begin * s.row + head * s.head_width, s.row, k,
                               s.head_width, scores, batch));
            part.rows(batch * tile.queries, tile.keys,
                      TileSoftmaxBody<Stored>{
                          tile, scores, p, log_sum_exp + s.statistic_at(sequence, head, begin),
                          sums, s.scale, sinks == nullptr ? nullptr : sinks + head});
            part.gemm(s.sums_of_queries(tile, p, v, s.value_width, sums, batch));
          }
          s.store_query_sums(part, sums, tile.queries, out, s.width, s.value_width, batch);
        }
      }
    }
  });
}

/// The gradient of one head of q of one block of queries, and what it adds to those of its keys and
/// values; of `batch` heads of keys and values at once.
template <class Stored>
struct AttentionGradientBlock {
  using Real = Wide<Stored>;
  const AttentionShape<Stored>& s;
  const Stored *q, *k, *v, *y, *dy;  ///< of the block's first query, of the sequence's first key
  const Real* log_sum_exp;
  Real* scratch;
  Stored* dq;
  RowSums<Real> dk, dv;  ///< of the sequence's first key

  /// Nothing has been added yet to the gradients of the keys and values of tiles before
  /// `fresh_end`.
  template <class Exec>
  void launch_on(Exec& exec, std::int64_t begin, std::int64_t fresh_end, std::int64_t batch) const {
    Real *scores = scratch, *gradients = scratch + s.scratch.gradients;
    Stored *p = s.stored_tile(scratch, 0), *ds = s.stored_tile(scratch, 1);
    const std::int64_t of_keys = s.head_width, of_values = s.value_width;
    const RowSums<Real> query_sums = s.query_sums(scratch, dq, s.row, of_keys);
    const std::int64_t stride = s.sharing * of_values;
    TileRows tile = s.tile(begin);
    for (const std::int64_t end = begin + tile.queries; tile.first_key < end;
         tile = s.tile(begin, tile.first_key + s.scratch.tile.keys)) {
      const bool first = tile.first_key < fresh_end;
      exec.gemm(s.scores(tile, q, s.row, k, of_keys, scores, batch));
      exec.gemm(s.scores(tile, dy, s.width, v, of_values, gradients, batch));
      exec.rows(
          batch * tile.queries, tile.keys,
          TileSoftmaxGradientBody<Stored>{tile, scores, gradients, p, ds, log_sum_exp,
                                          RowSums<const Stored>{dy, s.width, stride},
                                          RowSums<const Stored>{y, s.width, stride}, s.scale});
      exec.gemm(s.sums_of_keys(tile, p, dy, s.width, of_values, dv, !first, batch));
      exec.gemm(s.sums_of_queries(tile, ds, k, of_keys, query_sums, batch));
      exec.gemm(s.sums_of_keys(tile, ds, q, s.row, of_keys, dk, !first, batch));
    }
    s.store_query_sums(exec, query_sums, tile.queries, dq, s.row, of_keys, batch);
  }
};

/// Blocks of queries run from the last to the first. With its first head the first of them that
/// sees a tile of keys overwrites the gradients of these and of their values; all others add to
/// them.
template <class Stored, class Exec>
void launch(Exec& exec, const AttentionGradient& op, const BoundOp& bound) {
  using Shape = AttentionShape<Stored>;
  using Real = typename Shape::Real;
  const auto s = Shape::of(exec, op, bound.reads[1], bound.writes[1]);
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* qkv = data_of<Stored>(bound.reads[1]);
  const Stored* y = data_of<Stored>(bound.reads[2]);
  const Real* log_sum_exp = data_of<Real>(bound.reads[3]);
  Stored* d_qkv = data_of<Stored>(bound.writes[0]);
  Real* scratch = data_of<Real>(bound.writes[1]);

  exec.batches(s.key_value_heads, [&](auto& part, std::int64_t shared, std::int64_t batch) {
    Real* of_head = scratch + shared * s.scratch_stride;
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      const std::int64_t first = sequence * s.length * s.row;
      const std::int64_t keys_at = first + s.query_width + shared * s.head_width;
      const std::int64_t values_at =
          first + s.query_width + s.key_value_heads * s.head_width + shared * s.value_width;
      const RowSums<Real> dk = s.key_sums(of_head, d_qkv + keys_at),
                          dv = s.value_sums(of_head, d_qkv + values_at);
      const std::int64_t block = s.scratch.tile.queries, last = (s.length - 1) / block * block;
      for (std::int64_t begin = last; begin >= 0; begin -= block) {
        const std::int64_t token = sequence * s.length + begin;
        for (std::int64_t head = shared * s.sharing; head < (shared + 1) * s.sharing; ++head) {
          const std::int64_t column = head * s.head_width, y_column = head * s.value_width;
          const AttentionGradientBlock<Stored> of_block{
              s,
              qkv + token * s.row + column,
              qkv + keys_at,
              qkv + values_at,
              y + token * s.width + y_column,
              dy + token * s.width + y_column,
              log_sum_exp + s.statistic_at(sequence, head, begin),
              of_head,
              d_qkv + token * s.row + column,
              dk,
              dv};
          const std::int64_t unseen = begin == last ? s.length : s.first_tile(begin + block);
          of_block.launch_on(part, begin, head == shared * s.sharing ? unseen : 0, batch);
        }
      }
      s.store_key_sums(part, dk, d_qkv + keys_at, s.head_width, batch);
      s.store_key_sums(part, dv, d_qkv + values_at, s.value_width, batch);
    }
  });
}

}  // namespace moe
