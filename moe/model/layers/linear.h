#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

struct LinearShape {
  std::string name;       ///< the name of its ops: "attention qkv"
  std::string parameter;  ///< the parameters are this with ".weight" and ".bias": "attention.qkv"
  std::int64_t inputs = 0, outputs = 0;
  bool bias = true;
  /// The dimension that ranks cut, where any share dense matrices.
  Sharded sharded = Sharded::not_at_all;
  std::vector<std::int64_t>
      column_groups{};  ///< widths of the groups of columns that are cut alike; empty = one group
  double standard_deviation = LayerBuilder::kInitialDeviation;
  /// The output and its gradient are wide: logits of routers.
  bool wide_output = false;
};

/// x[n,inputs] -> y[n,outputs] = x W (+ b). Backward: the input gradient, then the weight gradient.
/// Where ranks share it, n are the tokens of all of them (gather_tokens). Cut by columns, y and dy
/// have the columns of this rank, and dx must be added up (sum_tokens). Cut by rows, x and dx have
/// the columns of this rank, and y must be added up.
Layer linear(LayerBuilder& build, const LinearShape& shape, TensorId x);

/// x[T,M] -> [n*T,M]: the tokens of the n ranks that share dense matrices; x itself where no ranks
/// do. The tokens of a rank are whole sequences (Megatron's sequence parallelism cuts sequences as
/// well).
TensorId gather_tokens(LayerBuilder& build, TensorId x, const std::string& name);
/// partial[n*T,M] -> [T,M]: the tokens of this rank in the sum of these ranks' partial results.
TensorId sum_tokens(LayerBuilder& build, TensorId partial, const std::string& name);

/// a + b, rows of this rank's tokens.
TensorId add(LayerBuilder& build, const std::string& op_name, const std::string& tensor_name,
             TensorId a, TensorId b);
/// factor x; x itself where the factor is 1. `part` names what is scaled: "scaled_PART".
TensorId scaled(LayerBuilder& build, const std::string& part, TensorId x, double factor);

}  // namespace moe
