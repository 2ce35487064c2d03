#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "moe/model/experts/network_builder.h"

namespace moe {

/// The backward of expert networks in two steps, so that ops that wait for the input gradient need
/// not wait for the weight gradients.
struct ExpertGradients {
  TensorId input = -1;            ///< d_received[R,M], its ops added
  std::function<void()> weights;  ///< adds the ops of the weight gradients
};

/// The networks of a rank's experts after their forward has been built. R received rows of width M.
struct ExpertNetwork {
  TensorId output = -1;                                        ///< [R,M]
  std::function<ExpertGradients(TensorId d_output)> backward;  ///< d_output[R,M]
};

/// All expert networks, one line each: NAME, the keys of a model file for it, and a description. A
/// model file calls it NAME. experts/NAME.cpp defines NetworkPart NAME_network(const
/// NetworkBuilder&, TensorId x), x[n,M], which builds the experts, the shared experts and the dense
/// networks of a model.
#define MOELAB_EXPERTS(EXPERT)                                                 \
  EXPERT(gpt, (NetworkFacts{.products = 2, .chooses_activation = true}),       \
         "up to the hidden width, GELU or ReLU, down, with biases")            \
  EXPERT(mixtral, (NetworkFacts{.products = 3, .chooses_activation = false}),  \
         "up twice, one by way of SiLU times the other, down, without biases") \
  EXPERT(gpt_oss, (NetworkFacts{.products = 3, .chooses_activation = false}),  \
         "as mixtral, with biases, the first limited to 7, the other to 7 each way, plus 1")

#define MOELAB_DECLARE_EXPERT(name, facts, description) \
  NetworkPart name##_network(const NetworkBuilder& net, TensorId x);
MOELAB_EXPERTS(MOELAB_DECLARE_EXPERT)
#undef MOELAB_DECLARE_EXPERT

struct NetworkFacts {
  int products = 2;                 ///< matrices of d_model times the hidden width
  bool chooses_activation = false;  ///< a model file may set "activation" for it
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

/// Throws InputError with the names of all expert networks.
const Expert& expert_named(std::string_view name);

}  // namespace moe
