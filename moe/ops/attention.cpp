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

/// Products of L x L by head width for every head of every sequence; causal: half of each. A GPU
/// takes a tile of all heads of keys and values of a sequence in one batched product
/// (kernels/attention.h), and has a softmax beside the products. The scratch is not counted, since
/// a tile stays in the cache.
template <class Kind>
Work attention_work(const OpSizes& s, const Use& attended, const Use& scratch, const Kind& kind,
                    int products) {
  const std::int64_t length = kind.sequence_length,
                     window = kind.window > 0 ? std::min(kind.window, length) : length;
  const auto sequences = static_cast<std::int64_t>(s.rows(attended)) / length;
  const auto w = static_cast<double>(window);
  const double twice_seen = 2 * w - w * w / static_cast<double>(length);  // on average
  return {products * s.rows(attended) * twice_seen * s.columns(attended),
          s.all_bytes() - s.bytes(scratch), 0,
          products * sequences * kind.heads * tiles_of(length, window, kCpuAttentionTile),
          (products + 1) * sequences * (kind.heads / kind.key_value_heads) *
              tiles_of(length, window, kGpuAttentionTile)};
}

}  // namespace

AttentionScratch AttentionScratch::of(AttentionTile largest, std::int64_t length,
                                      std::int64_t head_width, bool narrows, bool gradient) {
  constexpr std::int64_t kAligned = 16;
  const AttentionTile tile{std::min(largest.queries, length), std::min(largest.keys, length)};
  const std::int64_t row = (tile.keys + kAligned - 1) / kAligned * kAligned;
  const std::int64_t elements = tile.queries * row, tiles = gradient ? 2 : 1;
  AttentionScratch scratch{tile, row, 0, 0, 0, 0, 0};
  scratch.gradients = gradient ? elements : 0;
  scratch.stored = tiles * elements;
  scratch.query_sums = scratch.stored + (narrows ? tiles * elements / 2 : 0);
  scratch.key_sums = scratch.query_sums + (narrows ? tile.queries * head_width : 0);
  scratch.elements = scratch.key_sums + (narrows && gradient ? 2 * length * head_width : 0);
  return scratch;
}

std::int64_t fused_gradient_bytes(const AttentionHeads& heads, std::int64_t length) {
  const auto rounded = [=](std::int64_t step) { return (length + step - 1) / step * step; };
  constexpr std::int64_t kNarrow = 2, kWide = 4, kAligned = 256;
  const std::int64_t of_shared = heads.sharing > 1 ? 2 * kNarrow * length * heads.head_width : 0;
  return heads.sharing *
         (kNarrow * rounded(64) * rounded(128) + kWide * length + of_shared + kAligned);
}

std::int64_t attention_scratch_columns(const AttentionHeads& heads, std::int64_t length,
                                       bool narrows, bool gradient) {
  const std::int64_t of_tiles =
      AttentionScratch::of(kGpuAttentionTile, length, heads.head_width, narrows, gradient).elements;
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
  return attention_work(s, s.out(0), s.out(2), *this, 2);
}
Work AttentionSinkGradient::work(const OpSizes& s) const { return s.element_wise(s.in(0), 2); }
/// Scores once more, and the products of four gradients.
Work AttentionGradient::work(const OpSizes& s) const {
  return attention_work(s, s.in(0), s.out(1), *this, 5);
}

}  // namespace moe
