#include "moe/model/layers/feed_forward.h"

#include "moe/model/experts/experts.h"
#include "moe/model/layers/linear.h"

namespace moe {

Layer feed_forward(LayerBuilder& build, TensorId x, const std::string& name, std::int64_t hidden) {
  const NetworkPart network = expert_named(build.model.expert)
                                  .network({build, NetworkPlace::tokens, name, hidden},
                                           gather_tokens(build, x, name + " input"));
  const TensorId y = sum_tokens(build, network.output, name + " output");
  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = network.backward(gather_tokens(build, dy, name + " output gradient"),
                                         [](const std::function<void()>& weights) { weights(); });
    return sum_tokens(build, dx, name + " input gradient");
  };
  return {y, backward};
}

}  // namespace moe
