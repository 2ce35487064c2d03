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

/// One kind of expert: a file of this folder and a line in experts.cpp.
struct Expert {
  std::string_view name;  ///< as a model file says it
  std::string_view description;
  ExpertNetwork (*build)(LayerBuilder&, TensorId received);
};

const std::vector<Expert>& experts();

/// Throws std::invalid_argument naming the expert networks there are.
const Expert& expert_named(std::string_view name);

}  // namespace moe
