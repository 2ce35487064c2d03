#include "moe/ops/attention.h"

#include <algorithm>

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Tiles that have scores on or below the diagonal, and in the window.
std::int64_t tiles_of(std::int64_t length, std::int64_t window, AttentionTile tile) {
  std::int64_t tiles = 0;
  for (std::int64_t begin = 0; begin < length; begin += tile.queries) {
    const std::int64_t keys = std::min(begin + tile.queries, length);
    tiles += (keys + tile.keys - 1) / tile.keys;
    tiles -= std::max<std::int64_t>(begin + 1 - window, 0) / tile.keys;
  }
  return tiles;
}

/// Products of L x L by the width of a head for every head of every sequence: `by_keys` by that of
/// keys, `by_values` by that of values. Causal: half of each. A GPU takes a tile of all heads of
/// keys and values of a sequence in one batched product (kernels/attention.h), and has a softmax
/// beside the products. The scratch is not counted, since a tile stays in the cache.
template <class Kind>
Work attention_work(const OpSizes& s, const Use& qkv, const Use& attended, const Use& scratch,
                    const Kind& kind, int by_keys, int by_values) {
  const HeadWidths widths =
      head_widths(static_cast<std::int64_t>(s.columns(qkv)), kind.heads, kind.key_value_heads,
                  kind.value_width, Kind::facts.name.data());
  const int products = by_keys + by_values;
  const std::int64_t length = kind.sequence_length,
                     window = kind.window > 0 ? std::min(kind.window, length) : length;
  const auto sequences = static_cast<std::int64_t>(s.rows(attended)) / length;
  const auto w = static_cast<double>(window);
  const double twice_seen = 2 * w - w * w / static_cast<double>(length);  // on average
  const auto columns =
      static_cast<double>(kind.heads * (by_keys * widths.keys + by_values * widths.values));
  return {s.rows(attended) * twice_seen * columns, s.all_bytes() - s.bytes(scratch), 0,
          products * sequences * kind.heads * tiles_of(length, window, kCpuAttentionTile),
          (products + 1) * sequences * (kind.heads / kind.key_value_heads) *
              tiles_of(length, window, kGpuAttentionTile)};
}

}  // namespace

AttentionScratch AttentionScratch::of(AttentionTile largest, std::int64_t length,
                                      const HeadWidths& widths, bool narrows, bool gradient) {
  constexpr std::int64_t kAligned = 16;
  const AttentionTile tile{std::min(largest.queries, length), std::min(largest.keys, length)};
  const std::int64_t row = (tile.keys + kAligned - 1) / kAligned * kAligned;
  const std::int64_t elements = tile.queries * row, tiles = gradient ? 2 : 1;
  AttentionScratch scratch{tile, row, 0, 0, 0, 0, 0};
  scratch.gradients = gradient ? elements : 0;
  scratch.stored = tiles * elements;
  scratch.query_sums = scratch.stored + (narrows ? tiles * elements / 2 : 0);
  const std::int64_t of_queries = tile.queries * (gradient ? widths.keys : widths.values);
  scratch.key_sums = scratch.query_sums + (narrows ? of_queries : 0);
  scratch.elements =
      scratch.key_sums + (narrows && gradient ? length * (widths.keys + widths.values) : 0);
  return scratch;
}

std::int64_t fused_gradient_bytes(const AttentionHeads& heads, std::int64_t length) {
  const auto rounded = [=](std::int64_t step) { return (length + step - 1) / step * step; };
  constexpr std::int64_t kNarrow = 2, kWide = 4, kAligned = 256;
  const std::int64_t of_shared =
      heads.sharing > 1 ? kNarrow * length * (heads.head_width + heads.value_width) : 0;
  return heads.sharing *
         (kNarrow * rounded(64) * rounded(128) + kWide * length + of_shared + kAligned);
}

std::int64_t attention_scratch_columns(const AttentionHeads& heads, std::int64_t length,
                                       bool narrows, bool gradient) {
  const std::int64_t of_tiles =
      AttentionScratch::of(kGpuAttentionTile, length, {heads.head_width, heads.value_width},
                           narrows, gradient)
          .elements;
  if (!narrows || !gradient) return of_tiles;
  constexpr std::int64_t kWide = 4;
  const std::int64_t of_head = fused_gradient_bytes(heads, length);
  const std::int64_t count = heads.key_value_heads,
                     most = std::min(count, kMostFusedBytes / of_head);
  if (most == 0) return of_tiles;
  const std::int64_t calls = (count + most - 1) / most, at_once = (count + calls - 1) / calls;
  return std::max(of_tiles, (at_once * of_head + count * kWide - 1) / (count * kWide));
}

Work Attention::work(const OpSizes& s) const {
  return attention_work(s, s.in(0), s.out(0), s.out(2), *this, 1, 1);
}
Work AttentionSinkGradient::work(const OpSizes& s) const { return s.element_wise(s.in(0), 2); }
/// Scores once more, and the products of four gradients: those of queries and keys are by the width
/// of keys, those of probabilities and values by that of values.
Work AttentionGradient::work(const OpSizes& s) const {
  return attention_work(s, s.in(1), s.in(0), s.out(1), *this, 3, 2);
}

}  // namespace moe
