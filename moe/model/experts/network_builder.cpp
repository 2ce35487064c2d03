#include "moe/model/experts/network_builder.h"

#include <utility>

#include "moe/model/layers/linear.h"

namespace moe {

NetworkBuilder::NetworkBuilder(LayerBuilder& build, NetworkPlace place, std::string name,
                               std::int64_t hidden)
    : build_(&build),
      place_(place),
      name_(std::move(name)),
      hidden_(hidden),
      hidden_here_(hidden /
                   (place == NetworkPlace::experts ? build.sharing_ranks() : build.tensor_ranks())),
      biases_(build.model.biases) {}

NetworkBuilder NetworkBuilder::without_biases() const {
  NetworkBuilder other = *this;
  other.biases_ = false;
  return other;
}

NetworkPart NetworkBuilder::up(const std::string& name, TensorId x) const {
  return place_ == NetworkPlace::experts ? expert_linear_part(name, x, Sharded::by_columns)
                                         : linear_part(name, x, Sharded::by_columns);
}

NetworkPart NetworkBuilder::down(const std::string& name, TensorId x) const {
  return place_ == NetworkPlace::experts ? expert_linear_part(name, x, Sharded::by_rows)
                                         : linear_part(name, x, Sharded::by_rows);
}

NetworkPart NetworkBuilder::activation(TensorId x) const {
  const bool relu = build_->model.activation == Activation::relu;
  const std::string name = relu ? "relu" : "gelu";
  const TensorId y = hidden_rows("activated");
  op(relu ? OpKind(Relu{}) : OpKind(Gelu{}), name, {x}, {y});
  const auto backward = [=, net = *this](TensorId dy, const WeightGradients&) {
    const TensorId dx = net.hidden_rows("d_hidden");
    // The gradient of ReLU follows from its output, so its input need not be kept.
    net.op(relu ? OpKind(ReluGradient{}) : OpKind(GeluGradient{}), name + " gradient",
           {dy, relu ? y : x}, {dx});
    return dx;
  };
  return {y, backward};
}

void NetworkBuilder::op(OpKind kind, const std::string& name, std::vector<TensorId> reads,
                        std::vector<TensorId> writes) const {
  build_->op(std::move(kind), name_ + " " + name, std::move(reads), std::move(writes));
}

TensorId NetworkBuilder::rows(const std::string& name, std::int64_t columns) const {
  const std::string full = name_ + "." + name;
  return place_ == NetworkPlace::experts
             ? build_->routed(full, build_->expert_rows(), columns)
             : build_->activation(full, build_->tokens * build_->tensor_ranks(), columns);
}

/// The weight gradient follows the input gradient immediately: on tokens, only the next op of the
/// same stream waits for the input gradient.
NetworkPart NetworkBuilder::linear_part(const std::string& name, TensorId x,
                                        Sharded sharded) const {
  const bool up = sharded == Sharded::by_columns;
  const std::int64_t width = build_->model.d_model;
  const Layer layer = linear(
      *build_,
      {.name = name_ + " " + name,
       .parameter = name_ + "." + name,
       .inputs = up ? width : hidden_,
       .outputs = up ? hidden_ : width,
       .bias = biases_,
       .sharded = sharded,
       .standard_deviation = up ? LayerBuilder::kInitialDeviation : build_->residual_deviation()},
      x);
  return {layer.output, [=](TensorId dy, const WeightGradients&) { return layer.backward(dy); }};
}

NetworkPart NetworkBuilder::expert_linear_part(const std::string& name, TensorId x,
                                               Sharded sharded) const {
  const bool up = sharded == Sharded::by_columns;
  const std::int64_t width = build_->model.d_model;
  const int local = build_->local_experts();
  const std::string parameter = name_ + "." + name;
  std::vector<TensorId> parameters{build_->expert_weight(
      parameter + ".weight", up ? width : hidden_, up ? hidden_ : width, sharded,
      up ? LayerBuilder::kInitialDeviation : build_->residual_deviation())};
  if (biases_) {
    // Where partial results are added up, every rank has the whole bias and adds its share of it.
    parameters.push_back(build_->expert_bias(parameter + ".bias", up ? hidden_ : width,
                                             up ? sharded : Sharded::not_at_all));
  }
  std::vector<TensorId> reads{x};
  reads.insert(reads.end(), parameters.begin(), parameters.end());
  const TensorId y = up ? hidden_rows(name) : model_rows(name);
  op(ExpertLinear{local, up ? 1.0 : 1.0 / build_->sharing_ranks()}, name, reads, {y});

  const auto backward = [=, net = *this](TensorId dy, const WeightGradients& weights) {
    const TensorId dx = up ? net.model_rows("d_input." + name) : net.hidden_rows("d_input." + name);
    net.op(ExpertLinearInputGradient{local}, name + " dX", {dy, parameters[0]}, {dx});
    weights([=] {
      std::vector<TensorId> gradients;
      for (const TensorId p : parameters) gradients.push_back(net.build_->gradient(p));
      net.op(ExpertLinearWeightGradient{local, false}, name + " dW", {x, dy}, gradients);
    });
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
