#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"

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

/// Every expert network, a line each: NAME, what it is. A model file calls it NAME; experts/NAME.cpp
/// defines ExpertNetwork NAME_experts(LayerBuilder&, TensorId received), received[R,M].
#define MOELAB_EXPERTS(EXPERT) EXPERT(gpt, "up to d_hidden, GELU, down, with biases")

#define MOELAB_DECLARE_EXPERT(name, description) \
  ExpertNetwork name##_experts(LayerBuilder&, TensorId received);
MOELAB_EXPERTS(MOELAB_DECLARE_EXPERT)
#undef MOELAB_DECLARE_EXPERT

struct Expert {
  std::string_view name;
  std::string_view description;
  ExpertNetwork (*build)(LayerBuilder&, TensorId received);
};

const std::vector<Expert>& experts();

/// Throws InputError naming the expert networks there are.
const Expert& expert_named(std::string_view name);

}  // namespace moe
