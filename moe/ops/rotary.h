#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// qkv[T,(heads + 2 key_value_heads) W] -> the same, in place: turns every head of q and k, of
/// width W, by the position p of its token in the sequence. With f_c = base^(-2c / W), a = x_c and
/// b = x_{c + W/2}, for c < W / 2:
///   (a, b) -> (a cos p f_c - b sin p f_c, a sin p f_c + b cos p f_c)
/// [RoFormer Eq. 34, which pairs neighbouring columns; here halves are paired as in GPT-NeoX, which
/// permutes the columns of a head]
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
