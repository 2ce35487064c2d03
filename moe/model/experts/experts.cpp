#include "moe/model/experts/experts.h"

#include <utility>

#include "moe/model/named.h"

namespace moe {

ExpertNetwork Expert::build(LayerBuilder& build, TensorId received) const {
  const NetworkPart part =
      network(NetworkBuilder(build, NetworkPlace::experts, "experts", expert_hidden(build.model)),
              received);
  const auto backward = [=](TensorId d_output) -> ExpertGradients {
    std::vector<std::function<void()>> later;
    const TensorId d_received = part.backward(
        d_output, [&](std::function<void()> weights) { later.push_back(std::move(weights)); });
    return {d_received, [=] {
              for (const auto& weights : later) weights();
            }};
  };
  return {part.output, backward};
}

const std::vector<Expert>& experts() {
#define MOELAB_LIST_EXPERT(name, facts, description) {#name, facts, description, name##_network},
  static const std::vector<Expert> all{MOELAB_EXPERTS(MOELAB_LIST_EXPERT)};
#undef MOELAB_LIST_EXPERT
  return all;
}

const Expert& expert_named(std::string_view name) {
  return find_named(experts(), name, "expert network");
}

}  // namespace moe
