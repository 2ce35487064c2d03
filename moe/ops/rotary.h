#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// qkv[T,(heads + 2 key_value_heads) W] -> the same, in place: every head of q and k, of width W, turned by
/// its token's position p in its sequence. With f_c = base^(-2c / W), for c < W / 2:
///   (x_c, x_{c + W/2}) -> (x_c cos p f_c - x_{c + W/2} sin p f_c, x_c sin p f_c + x_{c + W/2} cos p f_c)
/// [RoFormer Eq. 34, which pairs neighbours; halves, as GPT-NeoX pairs them, permute the columns of a head]
struct Rotary {
  static constexpr OpFacts facts =
      kernel_op("rotary", CostUnit::bytes, {Cut::tokens}, {Cut::tokens});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;
  double base = 10000;
  Work work(const OpSizes& sizes) const;
};
/// d_qkv[T,(heads + 2 key_value_heads) W] -> the same, in place: turned back
struct RotaryGradient {
  static constexpr OpFacts facts =
      kernel_op("rotary_gradient", CostUnit::bytes, {Cut::whole}, {Cut::whole});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;
  double base = 10000;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
