#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// How the columns of qkv, those of q, of k and of v, are normed: those of q and those of k in
/// equal groups, those of v, which are all others, not at all.
struct QueryKeyGroups {
  std::int64_t query_columns = 0, key_columns = 0;  ///< all of them
  int query_groups = 1, key_groups = 1;
};

/// qkv, query_scale[query_columns / query_groups], key_scale[key_columns / key_groups] ->
///     y like qkv, statistics[T,query_groups + key_groups] (reciprocal root mean squares)
/// x / rms(x) * scale of every group of a token, the scale alike for all groups; `epsilon` is added
/// to the mean square. A group is a head  [Qwen3; Henry et al. 2020], or all of them  [OLMoE].
struct QueryKeyNorm {
  static constexpr OpFacts facts =
      kernel_op("query_key_norm", CostUnit::bytes, {Cut::rows, Cut::whole, Cut::whole},
                {Cut::rows, wide(Cut::rows)});
  QueryKeyGroups groups{};
  double epsilon = 1e-5;
  Work work(const OpSizes& sizes) const;
};
/// dy, qkv, query_scale, key_scale, statistics -> d_qkv like qkv
struct QueryKeyNormInputGradient {
  static constexpr OpFacts facts =
      kernel_op("query_key_norm_input_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, Cut::whole, Cut::whole, wide(Cut::rows)}, {Cut::rows});
  QueryKeyGroups groups{};
  Work work(const OpSizes& sizes) const;
};
/// dy, qkv, statistics, (both where `accumulate`) -> d_query_scale, d_key_scale
struct QueryKeyNormWeightGradient {
  static constexpr OpFacts facts =
      kernel_op("query_key_norm_weight_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, wide(Cut::rows), wide(Cut::whole), wide(Cut::whole)},
                {wide(Cut::sum), wide(Cut::sum)});
  QueryKeyGroups groups{};
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
