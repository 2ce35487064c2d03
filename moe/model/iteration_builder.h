#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/program/program_builder.h"

namespace moe {

/// Builds one rank's iteration op by op; the order of the calls is the order of the Program.
class IterationBuilder {
 public:
  /// `model` and `groups` outlive the builder.
  IterationBuilder(const Model& model, const Groups& groups, int rank);

  Program iteration();

 private:
  struct NormParameters {
    TensorId scale = -1, shift = -1;
  };
  struct BlockParameters {
    NormParameters norm1, norm2;
    TensorId qkv = -1, qkv_bias = -1, output = -1, output_bias = -1;
    TensorId up = -1, up_bias = -1, down = -1,
             down_bias = -1;  ///< of the dense network or of the experts
    TensorId gate = -1;       ///< -1 where the network is dense
  };
  /// What backward needs of one block's forward.
  struct BlockTape {
    TensorId input = -1, normed1 = -1, statistics1 = -1, qkv = -1, attended = -1,
             probabilities = -1;
    TensorId middle = -1, normed2 = -1, statistics2 = -1;
    TensorId hidden = -1, activated = -1;  ///< dense
    TensorId probabilities_gate = -1, expert = -1, weight = -1, slot = -1, offsets = -1,
             total_demand = -1;  ///< experts
    TensorId sent = -1, received = -1, expert_hidden = -1, expert_activated = -1, produced = -1,
             returned = -1;  ///< experts
  };

  // parameters
  TensorId weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                  double deviation);
  TensorId bias(const std::string& name, std::int64_t columns);
  TensorId expert_parameter(const std::string& name, std::int64_t rows, std::int64_t columns,
                            double deviation);
  NormParameters norm(const std::string& name);
  void declare();

  // shorthand
  TensorId activation(const std::string& name, std::int64_t columns);
  TensorId integers(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorId routed(const std::string& name, Rows rows_are, std::int64_t columns);
  std::string label(const std::string& name) const;
  TensorId gradient(TensorId parameter) const;
  void op(OpKind kind, std::string name, std::vector<TensorId> reads, std::vector<TensorId> writes);
  int capacity_groups() const;  ///< of the global batch
  /// Copies an expert keeps per capacity group; none when dropless.
  std::optional<std::int64_t> capacity() const;
  int groups_of_rank() const;
  int local_experts() const;

  // forward
  void forward();
  TensorId forward_block(TensorId x);
  TensorId forward_dense(const BlockParameters& p, BlockTape& t);
  TensorId forward_experts(const BlockParameters& p, BlockTape& t);

  // backward
  void backward();
  TensorId linear_input_gradient(const std::string& name, TensorId dy, TensorId weight,
                                 std::int64_t columns);
  void linear_weight_gradient(const std::string& name, TensorId x, TensorId dy, TensorId weight,
                              TensorId bias);
  TensorId norm_gradients(const std::string& name, TensorId dy, TensorId x, const NormParameters& p,
                          TensorId statistics);
  TensorId add(const std::string& name, TensorId a, TensorId b);
  TensorId backward_block(TensorId dy);
  TensorId backward_dense(const BlockParameters& p, const BlockTape& t, TensorId dy);
  TensorId backward_experts(const BlockParameters& p, const BlockTape& t, TensorId dy);

  // update
  /// One all-reduce per block and group, in the order in which backward completes them.
  void reduce_gradients();
  void update();

  const Model& model_;
  const Groups& groups_;
  int rank_;
  std::int64_t tokens_, global_tokens_;
  ProgramBuilder build_;
  int layer_ = -1;
  Phase phase_ = Phase::forward;

  TensorId token_table_ = -1, position_table_ = -1, head_ = -1;
  NormParameters final_norm_;
  std::vector<BlockParameters> parameters_;
  std::vector<BlockTape> tapes_;
  TensorId last_ = -1, final_normed_ = -1, final_statistics_ = -1, logits_ = -1, log_sum_exp_ = -1;
};

}  // namespace moe
