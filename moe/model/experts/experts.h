#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "moe/model/experts/network_builder.h"

namespace moe {

/// The backward of expert networks in two parts, so that what waits for the input gradient does not
/// wait for the others.
struct ExpertGradients {
  TensorId input = -1;            ///< d_received[R,M], its ops added
  std::function<void()> weights;  ///< adds the ops of the weight gradients
};

/// The networks of a rank's experts whose forward has been built: R received rows of width M.
struct ExpertNetwork {
  TensorId output = -1;                                        ///< [R,M]
  std::function<ExpertGradients(TensorId d_output)> backward;  ///< d_output[R,M]
};

/// Every expert network, a line each: NAME, what a model file may say of it, what it is. A model file calls it
/// NAME; experts/NAME.cpp defines NetworkPart NAME_network(const NetworkBuilder&, TensorId x), x[n,M], which
/// makes experts, shared experts and the dense networks of a model alike.
#define MOELAB_EXPERTS(EXPERT)                                                \
  EXPERT(gpt, (NetworkFacts{.products = 2, .chooses_activation = true}),      \
         "up to the hidden width, GELU or ReLU, down, with biases")           \
  EXPERT(mixtral, (NetworkFacts{.products = 3, .chooses_activation = false}), \
         "up twice, one by way of SiLU times the other, down, without biases")

#define MOELAB_DECLARE_EXPERT(name, facts, description) \
  NetworkPart name##_network(const NetworkBuilder& net, TensorId x);
MOELAB_EXPERTS(MOELAB_DECLARE_EXPERT)
#undef MOELAB_DECLARE_EXPERT

struct NetworkFacts {
  int products = 2;                 ///< matrices of d_model times the hidden width
  bool chooses_activation = false;  ///< "activation" of a model file is its own to choose
};

struct Expert {
  std::string_view name;
  NetworkFacts facts;
  std::string_view description;
  NetworkPart (*network)(const NetworkBuilder& net, TensorId x);

  /// The experts of a rank, on the rows that they received.
  ExpertNetwork build(LayerBuilder& build, TensorId received) const;
};

const std::vector<Expert>& experts();

/// Throws InputError naming the expert networks there are.
const Expert& expert_named(std::string_view name);

}  // namespace moe
