#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/program/program_builder.h"

namespace moe {

/// The dimension along which ranks cut a parameter that they share.
enum class Sharded : std::uint8_t { not_at_all, by_rows, by_columns };

/// Layers are built with it. It adds the parameters, tensors and ops of a rank's micro-batch to a
/// Program, labelled with the block and the phase that are being built.
class LayerBuilder {
 public:
  /// `model` and `groups` must outlive the builder.
  LayerBuilder(const Model& model, const Groups& groups, int rank);

  const Model& model;
  const Groups& groups;
  const int rank;
  const std::int64_t tokens;         ///< tokens of this rank in a micro-batch
  const std::int64_t global_tokens;  ///< tokens of all ranks of a stage in a micro-batch
  const std::int64_t batch_tokens;   ///< tokens of all ranks of a stage in all micro-batches
  /// The factor of a layer's load-balancing loss of one micro-batch in the total loss, which counts
  /// the mean over micro-batches.
  const double auxiliary_weight;
  int block = -1;  ///< the block being built; -1 outside the blocks
  int stage = 0;   ///< the pipeline stage of the block
  Phase phase = Phase::forward;
  /// Functions of layers that run once in an iteration, when the gradients exist: each adds its ops
  /// to `stage`.
  struct Update {
    int stage = 0;
    std::function<void()> add_ops;
  };
  std::vector<Update> updates;
  /// Functions that add ops of a layer at the end of forward, where no op of the layers after it
  /// has to wait for them.
  struct Late {
    int block = 0, stage = 0;
    std::function<void()> add_ops;
  };
  std::vector<Late> late;

  Program& program() { return build_.program; }

  /// The tokens, targets, step and loss, which belong to no layer.
  void declare_inputs();

  // Parameters are named "block3.<name>" inside a block. Dense parameters are copied to all ranks,
  // or cut over the ranks that share dense matrices (each group of columns of these widths alike).
  // Parameters of experts, [rows, columns] each, are spread over the expert group. Where ranks
  // share experts they are also cut along one dimension, or copied to the sharing ranks.
  TensorId weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                  double standard_deviation = kInitialDeviation);
  TensorId shared_weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                         Sharded sharded, double standard_deviation,
                         const std::vector<std::int64_t>& column_groups = {});
  TensorId bias(const std::string& name, std::int64_t columns);
  TensorId shared_bias(const std::string& name, std::int64_t columns, Sharded sharded,
                       const std::vector<std::int64_t>& column_groups = {});
  TensorId scale(const std::string& name, std::int64_t columns);
  /// One row, initially zeros, that no optimizer changes: a function of `updates` does, from the
  /// values that the layer has written as its gradient. That gradient is not reduced, so it must be
  /// the same on all ranks.
  TensorId adjusted(const std::string& name, std::int64_t columns);
  /// A dense parameter that is not stored in fewer bits, nor is what is computed from it.
  TensorId wide_parameter(const std::string& name, std::int64_t rows, std::int64_t columns,
                          Initial initial, double standard_deviation = 0);
  TensorId expert_weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                         Sharded sharded, double standard_deviation = kInitialDeviation);
  TensorId expert_bias(const std::string& name, std::int64_t columns, Sharded sharded);
  TensorId gradient(TensorId parameter) const;
  /// Optimizer state with the shape of a parameter.
  TensorId state_like(TensorId parameter, const std::string& name);

  /// [tokens, columns]
  TensorId activation(const std::string& name, std::int64_t columns);
  TensorId activation(const std::string& name, std::int64_t rows, std::int64_t columns);
  /// The same where sums, statistics or what routers compute are kept (wide_of).
  TensorId wide(const std::string& name, std::int64_t columns);
  TensorId wide(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorId integers(const std::string& name, std::int64_t rows, std::int64_t columns);
  /// Rows on their way to or from the experts of this block.
  TensorId routed(const std::string& name, Rows rows_are, std::int64_t columns);
  /// As many rows and columns as `x`, an activation.
  TensorId like(const std::string& name, TensorId x);
  TensorId result(const std::string& name);
  /// [1,1], in the type that sums have: a number that the trainer writes.
  TensorId wide_input(const std::string& name);

  /// True where activations are stored in fewer bits than sums need.
  bool narrows() const { return wide_of(model.dtype) != model.dtype; }
  /// `x`, wide, as it is stored: rounded by an op where the model narrows(), else x itself.
  TensorId narrowed(const std::string& name, TensorId x);

  void op(OpKind kind, const std::string& name, std::vector<TensorId> reads,
          std::vector<TensorId> writes, Stream stream = Stream::compute);

  /// Ranks that share dense matrices with this one, itself among them.
  int tensor_ranks() const { return groups.layout.tensor; }
  /// The place of this rank's first token among those of its stage and micro-batch.
  std::int64_t first_token() const;
  /// True where ranks that share dense matrices cut the vocabulary.
  bool shards_vocabulary() const { return model.shard_vocabulary && tensor_ranks() > 1; }
  /// The first token id of this rank's share of the vocabulary.
  std::int64_t first_id() const;
  /// The experts that every rank has room for: the most that one has.
  int local_experts() const;
  /// Ranks that share this rank's experts, itself among them.
  int sharing_ranks() const { return groups.layout.expert_sharded; }
  /// The kind of rows that this rank's experts work on: received ones, or gathered ones.
  Rows expert_rows() const { return sharing_ranks() > 1 ? Rows::gathered : Rows::received; }
  /// The most copies that an expert keeps per capacity group; none when dropless.
  std::optional<std::int64_t> capacity() const;
  int capacity_groups_of_rank() const;
  /// The most rows that a rank sends an expert; where rows are padded, just so many. 0 when
  /// dropless.
  std::int64_t rows_per_pair() const;
  /// True where every rank sends every expert as many rows as it has capacity for.
  bool pads_rows() const { return model.exchange == ExchangedRows::padded; }
  /// The key by which gates of this block draw random numbers.
  Draw draw() const;
  /// The most experts that one token gets.
  int most_choices() const;

  static constexpr double kInitialDeviation = 0.02;
  /// The standard deviation of initial values in layers that write into the residual stream. It is
  /// smaller, so that the variance of the stream does not grow with depth.
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

/// The backward half of a layer: given the gradient of its output, adds the ops of its backward and
/// returns the gradient of its input. The function holds the tensors of forward that backward
/// needs.
using Backward = std::function<TensorId(TensorId dy)>;

/// A layer whose forward has been built.
struct Layer {
  TensorId output = -1;
  Backward backward;
};
/// The layer that does nothing.
inline Layer unchanged(TensorId x) {
  return {x, [](TensorId dy) { return dy; }};
}

}  // namespace moe
