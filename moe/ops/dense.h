#pragma once

#include "moe/rows/op_facts.h"

/// Ops on the tokens of a rank. T tokens, L tokens per sequence, V vocabulary, M model width; I and
/// O are the widths of a linear layer. Each comment gives the operands as reads -> writes, by
/// position, with optional ones in parentheses.
namespace moe {

/// The tokens of an embedding. Where ranks cut the vocabulary, each embeds the tokens of all of
/// them, as far as it has their rows, and adds positions to its own tokens alone; the sum over the
/// ranks is the embedding.
struct EmbeddedTokens {
  std::int64_t sequence_length = 0;
  std::int64_t first_position = 0;                 ///< of the first own token in its sequence
  std::int64_t first_id = 0;                       ///< the token of the table's first row
  std::int64_t own_begin = 0;                      ///< the first own token
  std::int64_t own_count = std::int64_t{1} << 40;  ///< own tokens; all that there are, if fewer
};

/// tokens i32[T], token_table[V,M], (position_table[L,M]) -> x[T,M]; zeros for tokens whose rows
/// are not in the table
struct EmbedTokens : EmbeddedTokens {
  static constexpr OpFacts facts =
      kernel_op("embed_tokens", CostUnit::bytes, {integers(Cut::whole), Cut::whole, Cut::whole},
                {Cut::whole});
  Work work(const OpSizes& sizes) const;
};
/// tokens i32[T], dx[T,M], (d_token_table[V,M]), (the gradients where `accumulate`) ->
/// d_token_table[V,M], (d_position_table[L,M]). Where d_token_table is read, the gradient is added
/// to its values, which are those of a tied head.
struct EmbedTokensGradient : EmbeddedTokens {
  static constexpr OpFacts facts = kernel_op(
      "embed_tokens_gradient", CostUnit::bytes,
      {integers(Cut::rows), Cut::rows, wide(Cut::whole), wide(Cut::whole), wide(Cut::whole)},
      {wide(Cut::sum), wide(Cut::sum)});
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

/// x[T,I], weight[I,O], (bias[O]) -> y[T,O] = x W + bias_share b. Where ranks add up their y, each
/// of them adds a share of the bias.
struct Linear {
  static constexpr OpFacts facts = kernel_op(
      "linear", CostUnit::flops, {Cut::rows, Cut::whole, Cut::whole}, {either(Cut::rows)});
  double bias_share = 1;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,O], weight[I,O] -> dx[T,I]
struct LinearInputGradient {
  static constexpr OpFacts facts =
      kernel_op("linear_input_gradient", CostUnit::flops, {Cut::rows, Cut::whole}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// x[T,I], dy[T,O], (the gradients where `accumulate`) -> d_weight[I,O], (d_bias[O])
struct LinearWeightGradient {
  static constexpr OpFacts facts = kernel_op(
      "linear_weight_gradient", CostUnit::flops,
      {Cut::rows, Cut::rows, wide(Cut::whole), wide(Cut::whole)}, {wide(Cut::sum), wide(Cut::sum)});
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

/// a[n,c], b[n,c] -> y[n,c]; n may be received rows of one slice
struct Add {
  static constexpr OpFacts facts =
      kernel_op("add", CostUnit::bytes, {Cut::rows, Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};

/// x[n,c] -> y[n,c], tanh form; n may be received rows of one slice
struct Gelu {
  static constexpr OpFacts facts = kernel_op("gelu", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], x[n,c] -> dx[n,c]; n may be received rows of one slice
struct GeluGradient {
  static constexpr OpFacts facts =
      kernel_op("gelu_gradient", CostUnit::bytes, {Cut::rows, Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// x[n,c] -> y[n,c] = max(x, 0); n may be received rows of one slice
struct Relu {
  static constexpr OpFacts facts = kernel_op("relu", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], y[n,c] -> dx[n,c] = dy where y > 0, else 0; y may also be x, which gives the same. n
/// may be received rows of one slice
struct ReluGradient {
  static constexpr OpFacts facts =
      kernel_op("relu_gradient", CostUnit::bytes, {Cut::rows, Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// a[n,c], x[n,c] -> y[n,c] = silu(a) x with silu(a) = a / (1 + e^-a); n may be received rows of
/// one slice
struct GatedSilu {
  static constexpr OpFacts facts =
      kernel_op("gated_silu", CostUnit::bytes, {Cut::rows, Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], a[n,c], x[n,c] -> da[n,c], dx[n,c]; n may be received rows of one slice
struct GatedSiluGradient {
  static constexpr OpFacts facts =
      kernel_op("gated_silu_gradient", CostUnit::bytes, {Cut::rows, Cut::rows, Cut::rows},
                {Cut::rows, Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// a[n,c], x[n,c] -> y[n,c] = (min(max(x, -limit), limit) + 1) g / (1 + e^(-slope g)) with
/// g = min(a, limit); n may be received rows of one slice  [GPT-OSS]
struct ClampedSwiglu {
  static constexpr OpFacts facts =
      kernel_op("clamped_swiglu", CostUnit::bytes, {Cut::rows, Cut::rows}, {Cut::rows});
  double slope = 1.702, limit = 7;
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], a[n,c], x[n,c] -> da[n,c], dx[n,c]; n may be received rows of one slice
struct ClampedSwigluGradient {
  static constexpr OpFacts facts =
      kernel_op("clamped_swiglu_gradient", CostUnit::bytes, {Cut::rows, Cut::rows, Cut::rows},
                {Cut::rows, Cut::rows});
  double slope = 1.702, limit = 7;
  Work work(const OpSizes& sizes) const;
};
/// x[n,c] -> y[n,c] = 1 / (1 + e^-x)
struct Sigmoid {
  static constexpr OpFacts facts =
      kernel_op("sigmoid", CostUnit::bytes, {wide(Cut::rows)}, {wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], x[n,c] -> dx[n,c]
struct SigmoidGradient {
  static constexpr OpFacts facts = kernel_op("sigmoid_gradient", CostUnit::bytes,
                                             {wide(Cut::rows), wide(Cut::rows)}, {wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};
/// x[n,c] -> y[n,c] = factor x; n may be received rows of one slice
struct Scale {
  static constexpr OpFacts facts = kernel_op("scale", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  double factor = 1;
  Work work(const OpSizes& sizes) const;
};
/// x[n,c], factor[n,1] -> y[n,c] = factor x
struct ScaleRows {
  static constexpr OpFacts facts =
      kernel_op("scale_rows", CostUnit::bytes, {Cut::rows, wide(Cut::rows)}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[n,c], x[n,c], factor[n,1] -> dx[n,c], d_factor[n,1]
struct ScaleRowsGradient {
  static constexpr OpFacts facts =
      kernel_op("scale_rows_gradient", CostUnit::bytes, {Cut::rows, Cut::rows, wide(Cut::rows)},
                {Cut::rows, wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
