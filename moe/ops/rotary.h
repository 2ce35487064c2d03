#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// How angles are slowed down for sequences that are longer than those of the training. With
/// t(f) = trained_length f / (2 pi) turns in a sequence of that length:
enum class AngleScaling : std::uint8_t {
  none,
  linear,  ///< f / factor  [Chen et al. 2023, position interpolation]
  /// f where t >= fast_turns, f / factor where t <= slow_turns, and between them
  /// f (s + (1 - s) / factor) with s = (t - slow_turns) / (fast_turns - slow_turns)  [Llama 3.1]
  llama3,
  /// f (1 - s + s / factor), where s rises from 0 to 1 with c, from the column pair whose t is
  /// fast_turns to the one whose t is slow_turns, both made whole numbers outwards where
  /// `whole_pairs`; angles' sine and cosine are multiplied by `magnitude`  [YaRN, Peng et al. 2023]
  yarn,
};

/// The angle by which a position turns pair c of R columns: p f_c, f_c = base^(-2c / R), scaled.
struct RotaryAngles {
  double base = 10000;
  std::int64_t columns = 0;  ///< R: of each head that many turn, the first; 0 = all of them
  AngleScaling scaling = AngleScaling::none;
  double factor = 1, trained_length = 0, slow_turns = 1, fast_turns = 32;
  double magnitude = 1;
  bool whole_pairs = true;
};

/// qkv[T,(heads + key_value_heads) W + key_value_heads V] -> the same, in place: turns the first R
/// columns of every head of q and k, of width W, by the position p of its token in the sequence.
/// With a = x_c and b = x_{c + R/2}, for c < R / 2:
///   (a, b) -> (a cos p f_c - b sin p f_c, a sin p f_c + b cos p f_c)
/// [RoFormer Eq. 34, which pairs neighbouring columns; here halves are paired as in GPT-NeoX, which
/// permutes the columns of a head]
struct Rotary {
  static constexpr OpFacts facts =
      kernel_op("rotary", CostUnit::bytes, {Cut::tokens}, {Cut::tokens});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;
  RotaryAngles angles{};
  std::int64_t value_width = 0;  ///< V; 0: W
  Work work(const OpSizes& sizes) const;
};
/// d_qkv -> the same, in place: turned back
struct RotaryGradient {
  static constexpr OpFacts facts =
      kernel_op("rotary_gradient", CostUnit::bytes, {Cut::whole}, {Cut::whole});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;
  RotaryAngles angles{};
  std::int64_t value_width = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
