#pragma once

#include <functional>
#include <string>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// Where a feed-forward network is: in every expert of this rank, on the rows that they received,
/// or once, on tokens.
enum class NetworkPlace : std::uint8_t { experts, tokens };

/// Takes a function that adds the ops of a weight gradient, and calls it immediately or later.
using WeightGradients = std::function<void(std::function<void()>)>;

/// A part of a network after its forward has been built. Its backward adds the ops of the input
/// gradient, and passes those of the weight gradients to `weights`, which decides when they are
/// added.
struct NetworkPart {
  TensorId output = -1;
  std::function<TensorId(TensorId dy, const WeightGradients& weights)> backward;
};

/// The parts of feed-forward networks, wherever they are. n rows of width M, hidden width H. Of
/// ranks that share a network each holds a width of h = H / ranks, and their outputs must be added
/// up.
class NetworkBuilder {
 public:
  /// `name` is that of its ops ("ffn up") and parameters ("ffn.up.weight"). `build` must outlive
  /// it.
  NetworkBuilder(LayerBuilder& build, NetworkPlace place, std::string name, std::int64_t hidden);

  /// The same network builder, except that its linear layers never have biases.
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
