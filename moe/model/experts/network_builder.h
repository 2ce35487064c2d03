#pragma once

#include <functional>
#include <string>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// Where a feed-forward network stands: in every expert of this rank, on the rows that they received, or once,
/// on tokens.
enum class NetworkPlace : std::uint8_t { experts, tokens };

/// Takes a function that adds the ops of a weight gradient, and calls it at once or later.
using WeightGradients = std::function<void(std::function<void()>)>;

/// A part of a network whose forward has been built. Its backward adds the ops of the input gradient itself,
/// and leaves it to `weights` when those of the weight gradients are added.
struct NetworkPart {
  TensorId output = -1;
  std::function<TensorId(TensorId dy, const WeightGradients& weights)> backward;
};

/// What feed-forward networks are made of, wherever they stand: n rows of width M, hidden width H. Ranks that
/// share a network hold h = H / ranks of it each, and what they produce is to be added up.
class NetworkBuilder {
 public:
  /// `name` of its ops ("ffn up") and parameters ("ffn.up.weight"). `build` outlives it.
  NetworkBuilder(LayerBuilder& build, NetworkPlace place, std::string name, std::int64_t hidden);

  /// The same, but its linear layers have no biases whatever the model has.
  NetworkBuilder without_biases() const;

  /// x[n,M] -> [n,h] and x[n,h] -> [n,M], with biases where the model has any.
  NetworkPart up(const std::string& name, TensorId x) const;
  NetworkPart down(const std::string& name, TensorId x) const;
  /// x[n,h] -> [n,h]: the model's activation.
  NetworkPart activation(TensorId x) const;

  /// [n,h] and [n,M]
  TensorId hidden_rows(const std::string& name) const { return rows(name, hidden_here_); }
  TensorId model_rows(const std::string& name) const { return rows(name, build_->model.d_model); }
  void op(OpKind kind, const std::string& name, std::vector<TensorId> reads,
          std::vector<TensorId> writes) const;

 private:
  TensorId rows(const std::string& name, std::int64_t columns) const;
  NetworkPart linear_part(const std::string& name, TensorId x, Sharded sharded) const;
  NetworkPart expert_linear_part(const std::string& name, TensorId x, Sharded sharded) const;

  LayerBuilder* build_;
  NetworkPlace place_;
  std::string name_;
  std::int64_t hidden_, hidden_here_;
  bool biases_;
};

}  // namespace moe
