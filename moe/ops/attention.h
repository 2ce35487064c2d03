#pragma once

#include <cmath>

#include "moe/ops/head_widths.h"
#include "moe/rows/op_facts.h"

namespace moe {

/// The scores that attention works on at once: this many queries by this many keys. `keys` is a
/// multiple of `queries`, so that every query sees a key of each tile up to the diagonal.
struct AttentionTile {
  std::int64_t queries, keys;
};
/// On a processor the scores of a tile, its keys and its values stay in the second-level cache.
/// Scores above the diagonal are skipped in steps of 64 queries; fewer would make GEMMs too small
/// to be fast.
inline constexpr AttentionTile kCpuAttentionTile{64, 512};
/// On a GPU a tile of every head of keys and values is computed at once: enough for GEMMs to fill
/// it. The tiles of 8 heads take 16 MiB in f32, which its second-level cache holds.
inline constexpr AttentionTile kGpuAttentionTile{512, 1024};

/// Where the parts of the scratch of one head of keys and values lie, in elements of the wide type.
/// A part that is not needed has no elements.
struct AttentionScratch {
  AttentionTile tile;       ///< no larger than a sequence
  std::int64_t row;         ///< elements from row to row of a tile
  std::int64_t gradients;   ///< the second tile, of gradients of scores
  std::int64_t stored;      ///< both tiles once more, as activations are stored
  std::int64_t query_sums;  ///< [queries of a tile, V or W]: outputs, or gradients of queries
  std::int64_t key_sums;    ///< [length, W] and [length, V]: gradients of keys and values
  std::int64_t elements;    ///< of all of it

  /// `narrows`: activations are stored in fewer bits than sums need. Tiles and sums then have both
  /// types.
  static AttentionScratch of(AttentionTile largest, std::int64_t length, const HeadWidths& widths,
                             bool narrows, bool gradient);
};

/// `sharing` heads of q for each of `key_value_heads` heads of k and v.
struct AttentionHeads {
  std::int64_t key_value_heads, sharing, head_width;
  std::int64_t value_width = head_width;
};
/// What a fused kernel (backend/cuda) needs for the gradient of a sequence and one head of k and v,
/// so that sums have one order: for each head of q the gradients of scores in bf16, one number for
/// each query and, where heads share keys, their gradients of keys and values. An upper bound of
/// the plans of cuDNN 9.19 for sm_80, sm_90 and sm_100 (tests/cudnn_plans).
std::int64_t fused_gradient_bytes(const AttentionHeads& heads, std::int64_t length);
/// The scratch of an op takes no more than this on account of fused kernels.
inline constexpr std::int64_t kMostFusedBytes = std::int64_t{768} << 20;
/// Columns of the scratch of an op on any device: as much as a GPU takes, which works on larger
/// tiles than a processor. That of a gradient in bf16 has room for all heads of a sequence, or for
/// an equal part of them that kMostFusedBytes hold.
std::int64_t attention_scratch_columns(const AttentionHeads& heads, std::int64_t length,
                                       bool narrows, bool gradient);

/// The factor of scores of heads whose keys have so many columns; `scale` 0: 1 / sqrt(columns).
template <class Real>
Real scale_of_scores(double scale, std::int64_t columns) {
  return scale > 0 ? static_cast<Real>(scale) : Real(1) / std::sqrt(static_cast<Real>(columns));
}

/// qkv[T,(heads + key_value_heads) W + key_value_heads V], (sinks[1,heads]) ->
///     y[T,heads V], log_sum_exp[T,heads], scratch[key_value_heads, AttentionScratch::elements]
/// log_sum_exp is of the scaled scores of a query with the keys up to itself. Of each sequence it
/// lies as [heads, sequence_length], as cuDNN has it. Probabilities are
/// made again from it where they are needed, so memory grows with L and not with its square
/// [FlashAttention-2, Dao 2023, Algorithms 1 and 2].
///
/// Causal attention with heads of W columns of q and k and V of v. The columns of qkv hold all
/// heads of q, then those of k, then those of v. With sinks the sum of a query's probabilities and
/// e^(sink of the head - log_sum_exp) is 1, and log_sum_exp has the sink in it  [GPT-OSS]. Of q
/// heads / key_value_heads consecutive heads share a head of k and v  [grouped-query attention,
/// Ainslie et al. 2023]; with as many of each it is multi-head attention.
struct Attention {
  static constexpr OpFacts facts =
      kernel_op("attention", CostUnit::flops, {Cut::tokens, Cut::whole},
                {Cut::tokens, wide(Cut::tokens), wide(Cut::whole)});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;   ///< a divisor of heads
  std::int64_t window = 0;       ///< keys that a query sees, itself among them; 0: all up to itself
  double scale = 0;              ///< of scores; 0: 1 / sqrt(W)
  std::int64_t value_width = 0;  ///< V; 0: W
  Work work(const OpSizes& sizes) const;
};
/// dy[T,heads V], y[T,heads V], log_sum_exp[T,heads], sinks[1,heads], (d_sinks where `accumulate`) ->
///     d_sinks[1,heads], terms[T,heads] (a scratch)
struct AttentionSinkGradient {
  static constexpr OpFacts facts =
      kernel_op("attention_sink_gradient", CostUnit::bytes,
                {Cut::whole, Cut::whole, wide(Cut::whole), Cut::whole, wide(Cut::whole)},
                {wide(Cut::sum), wide(Cut::whole)});
  std::int64_t sequence_length = 0;
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,heads V], qkv as Attention reads it, y[T,heads V], log_sum_exp[T,heads] ->
///     d_qkv like qkv, scratch[key_value_heads, AttentionScratch::elements]
struct AttentionGradient {
  static constexpr OpFacts facts = kernel_op("attention_gradient", CostUnit::flops,
                                             {Cut::whole, Cut::whole, Cut::whole, wide(Cut::whole)},
                                             {Cut::whole, wide(Cut::whole)});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;  ///< a divisor of heads
  std::int64_t window = 0;      ///< as in Attention
  double scale = 0;
  std::int64_t value_width = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
