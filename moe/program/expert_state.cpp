#include "moe/program/expert_state.h"

#include <algorithm>
#include <set>

namespace moe {
namespace {

std::set<int> layers_of(const HomesByLayer& a, const HomesByLayer& b) {
  std::set<int> layers;
  for (const HomesByLayer* homes : {&a, &b}) {
    for (const auto& [layer, of_experts] : *homes) layers.insert(layer);
  }
  return layers;
}

}  // namespace

std::vector<TensorId> tensors_that_move(const Parameter& parameter) {
  std::vector<TensorId> tensors{parameter.value};
  tensors.insert(tensors.end(), parameter.optimizer_state.begin(), parameter.optimizer_state.end());
  return tensors;
}

std::vector<ExpertMove> moves_to_homes(const HomesByLayer& from, const HomesByLayer& to, int layer,
                                       int members) {
  const ExpertHomes before = homes_of(from, layer), after = homes_of(to, layer);
  const auto experts = static_cast<int>(std::max(before.size(), after.size()));
  if (experts == 0) return {};
  return moves_between_homes(before, after, experts, members);
}

ExpertState expert_state(const Program& program, int layer) {
  ExpertState state;
  for (const Parameter& parameter : program.parameters) {
    if (!belongs_to_experts(parameter) || parameter.layer != layer) continue;
    const Tensor& value = program.tensors[parameter.value];
    const std::int64_t own = value.rows / parameter.shard.block_rows;
    for (const TensorId id : tensors_that_move(parameter)) {
      const Tensor& tensor = program.tensors[id];
      state.bytes += tensor.rows * tensor.columns * bytes_of(tensor.dtype) / own;
      ++state.tensors;
    }
  }
  return state;
}

ExpertTraffic expert_traffic(const Program& program, const HomesByLayer& to) {
  const Layout& layout = program.groups.layout;
  ExpertTraffic traffic;
  for (const int layer : layers_of(program.homes, to)) {
    const auto moves = moves_to_homes(program.homes, to, layer, layout.expert);
    const auto leave = static_cast<int>(std::count_if(
        moves.begin(), moves.end(), [](const ExpertMove& move) { return move.from != move.to; }));
    traffic.experts += leave;
    traffic.bytes += std::int64_t{leave} * layout.data * layout.expert_sharded *
                     expert_state(program, layer).bytes;
  }
  return traffic;
}

}  // namespace moe
