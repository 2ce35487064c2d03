#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// Adds tensors and ops to a Program under construction. All ops are on the compute stream.
///
/// What a tensor is for decides its type. Parameters, activations and routed rows are stored in the
/// type of the model. Gradients of parameters, states of the optimizer, results, and what is asked
/// for as wide (statistics, what routers compute) have wide_of() it.
class ProgramBuilder {
 public:
  Program program;

  explicit ProgramBuilder(DType dtype) : dtype_(dtype) {}

  struct ParameterShape {
    std::string name;
    std::int64_t rows = 1, columns = 1;
    Initial initial = Initial::zero;
    double standard_deviation = 0;
    int layer = -1;
    int stage = 0;
    GroupKind replicas = GroupKind::stage;
    std::optional<Shard> shard{};  ///< absent: the rank holds all of the parameter
    bool optimized = true;
    bool wide = false;  ///< it and what is computed from it are wide
  };
  /// Adds the parameter and its gradient; returns the parameter's tensor.
  TensorId parameter(const ParameterShape& shape);
  TensorId gradient_of(TensorId parameter) const;
  TensorId state_like(TensorId parameter, const std::string& name);

  TensorId input(const std::string& name, std::int64_t rows);
  /// A number that the trainer writes, in the type that sums have.
  TensorId wide_input(const std::string& name);
  TensorId result(const std::string& name);
  TensorId activation(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorId wide(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorId integers(const std::string& name, std::int64_t rows, std::int64_t columns);
  /// `rows`: the most rows that the capacity allows, 0 when dropless.
  TensorId routed(const std::string& name, Rows rows_are, std::int64_t rows, std::int64_t columns,
                  int layer);

  void op(OpKind kind, std::string name, const std::vector<TensorId>& reads,
          const std::vector<TensorId>& writes, int layer, Phase phase);

 private:
  TensorId add(Tensor tensor);
  DType wide() const { return wide_of(dtype_); }

  DType dtype_;
};

}  // namespace moe
