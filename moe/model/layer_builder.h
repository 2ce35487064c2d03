#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/program/program_builder.h"

namespace moe {

/// Along what ranks cut a parameter that they share.
enum class Sharded : std::uint8_t { not_at_all, by_rows, by_columns };

/// What layers are built with: adds the parameters, tensors and ops of one rank's micro-batch to a
/// Program, labelled with the block and the phase that are being built.
class LayerBuilder {
 public:
  /// `model` and `groups` outlive the builder.
  LayerBuilder(const Model& model, const Groups& groups, int rank);

  const Model& model;
  const Groups& groups;
  const int rank;
  const std::int64_t tokens;         ///< of this rank, in a micro-batch
  const std::int64_t global_tokens;  ///< of all ranks of a stage, in a micro-batch
  const std::int64_t batch_tokens;   ///< of all ranks of a stage, in all micro-batches
  /// Factor in the total loss of what a layer adds to it in one micro-batch: that of their mean.
  const double auxiliary_weight;
  int block = -1;  ///< being built; -1 outside the blocks
  int stage = 0;   ///< of the pipeline, that it belongs to
  Phase phase = Phase::forward;
  /// What layers do once in an iteration, when the gradients are there: each adds its ops to `stage`.
  struct Update {
    int stage = 0;
    std::function<void()> add_ops;
  };
  std::vector<Update> updates;

  Program& program() { return build_.program; }

  /// tokens, targets, step and the loss, which belong to no layer.
  void declare_inputs();

  // Parameters, named "block3.<name>" inside a block. The dense ones are copied to the whole world, or cut
  // over the ranks that share dense matrices (the columns of groups of these widths each alike). Those
  // of experts, [rows, columns] each, are spread over the expert group, and where ranks share experts cut
  // along one dimension: up to what adds up over the sharing ranks, or copied to them.
  TensorId weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                  double standard_deviation = kInitialDeviation);
  TensorId shared_weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                         Sharded sharded, double standard_deviation,
                         const std::vector<std::int64_t>& column_groups = {});
  TensorId bias(const std::string& name, std::int64_t columns);
  TensorId shared_bias(const std::string& name, std::int64_t columns, Sharded sharded,
                       const std::vector<std::int64_t>& column_groups = {});
  TensorId scale(const std::string& name, std::int64_t columns);
  /// One row of zeros that no optimizer moves: one of `updates` does, by what the layer has written as its
  /// gradient, which is not reduced: it must be the same on all ranks.
  TensorId adjusted(const std::string& name, std::int64_t columns);
  TensorId expert_weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                         Sharded sharded, double standard_deviation = kInitialDeviation);
  TensorId expert_bias(const std::string& name, std::int64_t columns, Sharded sharded);
  TensorId gradient(TensorId parameter) const;
  /// Optimizer state of a parameter's shape.
  TensorId state_like(TensorId parameter, const std::string& name);

  /// [tokens, columns]
  TensorId activation(const std::string& name, std::int64_t columns);
  TensorId activation(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorId integers(const std::string& name, std::int64_t rows, std::int64_t columns);
  /// Rows that travel to or from the experts of this block.
  TensorId routed(const std::string& name, Rows rows_are, std::int64_t columns);
  /// As many rows and columns as `x`, an activation.
  TensorId like(const std::string& name, TensorId x);
  TensorId result(const std::string& name);

  void op(OpKind kind, const std::string& name, std::vector<TensorId> reads,
          std::vector<TensorId> writes, Stream stream = Stream::compute);

  /// Ranks that share dense matrices with this one, itself among them.
  int tensor_ranks() const { return groups.layout.tensor; }
  int local_experts() const;
  /// Ranks that share this rank's experts, itself among them.
  int sharing_ranks() const { return groups.layout.expert_sharded; }
  /// What the rows that this rank's experts work on count.
  Rows expert_rows() const { return sharing_ranks() > 1 ? Rows::gathered : Rows::received; }
  /// Copies an expert keeps per capacity group; none when dropless.
  std::optional<std::int64_t> capacity() const;
  int capacity_groups_of_rank() const;
  /// What gates of this block draw numbers by.
  Draw draw() const;
  /// Experts that one token gets at most.
  int most_choices() const;

  static constexpr double kInitialDeviation = 0.02;
  /// Of layers that write into the residual stream: smaller, so that its variance does not grow with
  /// depth.
  double residual_deviation() const;

 private:
  std::string label(const std::string& name) const;
  TensorId shared_parameter(const std::string& name, std::int64_t rows, std::int64_t columns,
                            Sharded sharded, const std::vector<std::int64_t>& column_groups,
                            Initial initial, double standard_deviation);
  TensorId expert_parameter(const std::string& name, std::int64_t rows, std::int64_t columns,
                            Sharded sharded, Initial initial, double standard_deviation);

  ProgramBuilder build_;
};

/// The second half of a layer: given the gradient of its output, adds the ops of its backward and
/// returns the gradient of its input. What backward keeps of forward is what the function holds.
using Backward = std::function<TensorId(TensorId dy)>;

/// A layer whose forward has been built.
struct Layer {
  TensorId output = -1;
  Backward backward;
};

}  // namespace moe
