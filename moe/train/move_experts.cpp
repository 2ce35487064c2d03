#include "moe/train/move_experts.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "moe/rows/expert_moves.h"

namespace moe {
namespace {

/// Sends the blocks of a tensor to their new homes.
void move_blocks(Runner& runner, const Parameter& parameter, TensorId id,
                 const std::vector<ExpertMove>& moves, int own, const SharedStates& states,
                 Communicator& group, const CallContext& call) {
  const std::vector<std::byte> before = states.read(runner, parameter, id);
  std::vector<std::byte> after = before;
  std::vector<Segment> sent, received;
  for (const ExpertMove& move : moves) {
    if (move.from == group.rank) sent.push_back({move.to, move.block, 1});
    if (move.to == group.rank) received.push_back({move.from, move.to_block, 1});
  }
  group.all_to_all_v(before.data(), sent, after.data(), received,
                     static_cast<std::int64_t>(before.size()) / own, call);
  SharedStates::write(runner, parameter, id, after);
}

}  // namespace

void move_experts(Runner& runner, const HomesByLayer& to, const SharedStates& states,
                  Communicator& world, double time_limit_s) {
  const HomesByLayer from = runner.whole().homes;
  if (from == to) return;
  const Groups& groups = runner.whole().groups;
  const std::unique_ptr<Communicator> group =
      world.split(members(groups, GroupKind::expert, world.rank));
  CallContext call;
  call.time_limit_s = time_limit_s;
  // All members of an expert group are in one stage, and so have the same parameters in the same
  // order.
  for (const Parameter& parameter : runner.program().parameters) {
    if (!belongs_to_experts(parameter)) continue;
    const auto moves = moves_to_homes(from, to, parameter.layer, group->size);
    if (moves.empty()) continue;
    const Tensor& value = runner.program().tensors[parameter.value];
    const auto own = static_cast<int>(value.rows / parameter.shard.block_rows);
    call.what = fmt::format("move of {} (layer {})", value.name, parameter.layer);
    for (const TensorId id : tensors_that_move(parameter)) {
      move_blocks(runner, parameter, id, moves, own, states, *group, call);
    }
  }
}

}  // namespace moe
