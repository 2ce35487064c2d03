#include "moe/train/move_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "moe/program/expert_moves.h"

namespace moe {
namespace {

std::vector<TensorId> tensors_with_it(const Parameter& parameter) {
  std::vector<TensorId> tensors{parameter.value};
  tensors.insert(tensors.end(), parameter.optimizer_state.begin(), parameter.optimizer_state.end());
  return tensors;
}

std::set<int> layers_of(const HomesByLayer& a, const HomesByLayer& b) {
  std::set<int> layers;
  for (const HomesByLayer* homes : {&a, &b}) {
    for (const auto& [layer, of_experts] : *homes) layers.insert(layer);
  }
  return layers;
}

std::vector<ExpertMove> moves_of_layer(const HomesByLayer& from, const HomesByLayer& to, int layer,
                                       int members) {
  const ExpertHomes before = homes_of(from, layer), after = homes_of(to, layer);
  const auto experts = static_cast<int>(std::max(before.size(), after.size()));
  if (experts == 0) return {};
  return moves_between_homes(before, after, experts, members);
}

/// Blocks of a tensor to where they belong.
void move_blocks(Runner& runner, TensorId id, const std::vector<ExpertMove>& moves, int own,
                 Communicator& group, const CallContext& call) {
  const Tensor& tensor = runner.program().tensors[static_cast<std::size_t>(id)];
  const std::int64_t bytes = tensor.rows * tensor.columns * bytes_of(tensor.dtype);
  std::vector<std::byte> before(static_cast<std::size_t>(bytes));
  runner.read(id, before);
  std::vector<std::byte> after = before;
  std::vector<Segment> sent, received;
  for (const ExpertMove& move : moves) {
    if (move.from == group.rank) sent.push_back({move.to, move.block, 1});
    if (move.to == group.rank) received.push_back({move.from, move.to_block, 1});
  }
  group.all_to_all_v(before.data(), sent, after.data(), received, bytes / own, call);
  runner.write(id, after);
}

}  // namespace

ExpertState expert_state(const Program& program, int layer) {
  ExpertState state;
  for (const Parameter& parameter : program.parameters) {
    if (!belongs_to_experts(parameter) || parameter.layer != layer) continue;
    const Tensor& value = program.tensors[static_cast<std::size_t>(parameter.value)];
    const std::int64_t own = value.rows / parameter.shard.block_rows;
    for (const TensorId id : tensors_with_it(parameter)) {
      const Tensor& tensor = program.tensors[static_cast<std::size_t>(id)];
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
    const auto moves = moves_of_layer(program.homes, to, layer, layout.expert);
    const auto leave = static_cast<int>(std::count_if(
        moves.begin(), moves.end(), [](const ExpertMove& move) { return move.from != move.to; }));
    traffic.experts += leave;
    traffic.bytes += std::int64_t{leave} * layout.data * layout.expert_sharded *
                     expert_state(program, layer).bytes;
  }
  return traffic;
}

void move_experts(Runner& runner, const HomesByLayer& to, Communicator& world,
                  double time_limit_s) {
  const HomesByLayer from = runner.whole().homes;
  if (from == to) return;
  const Groups& groups = runner.whole().groups;
  const std::unique_ptr<Communicator> group =
      world.split(members(groups, GroupKind::expert, world.rank));
  CallContext call;
  call.time_limit_s = time_limit_s;
  // All members of an expert group are of one stage, and so have the same parameters in the same order.
  for (const Parameter& parameter : runner.program().parameters) {
    if (!belongs_to_experts(parameter)) continue;
    const auto moves = moves_of_layer(from, to, parameter.layer, group->size);
    if (moves.empty()) continue;
    const Tensor& value = runner.program().tensors[static_cast<std::size_t>(parameter.value)];
    const auto own = static_cast<int>(value.rows / parameter.shard.block_rows);
    call.what = fmt::format("move of {} (layer {})", value.name, parameter.layer);
    for (const TensorId id : tensors_with_it(parameter)) {
      move_blocks(runner, id, moves, own, *group, call);
    }
  }
}

}  // namespace moe
