#include "moe/train/move_experts.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "moe/rows/expert_moves.h"

namespace moe {
namespace {

/// The moves of one tensor of `own` blocks.
struct Moving {
  Runner& runner;
  const Parameter& parameter;
  TensorId tensor;
  int own;
  Communicator& group;
  const CallContext& call;
};

/// Sends the blocks of a tensor to their new homes. Blocks that stay are not copied.
void move_blocks(const Moving& moving, const std::vector<ExpertMove>& moves) {
  Runner& runner = moving.runner;
  const Tensor& tensor = runner.program().tensors[moving.tensor];
  const std::int64_t block = tensor.rows * tensor.columns * bytes_of(tensor.dtype) / moving.own;
  std::vector<Segment> sent, received;
  std::vector<int> from, to;  // the blocks that are sent, and where those go that come
  for (const ExpertMove& move : moves) {
    if (move.from == moving.group.rank) {
      sent.push_back({move.to, static_cast<std::int64_t>(from.size()), 1});
      from.push_back(move.block);
    }
    if (move.to == moving.group.rank) {
      received.push_back({move.from, static_cast<std::int64_t>(to.size()), 1});
      to.push_back(move.to_block);
    }
  }
  const auto part = [&](std::vector<std::byte>& all, std::size_t i) {
    return std::span(all).subspan(i * static_cast<std::size_t>(block),
                                  static_cast<std::size_t>(block));
  };
  std::vector<std::byte> before(from.size() * static_cast<std::size_t>(block));
  std::vector<std::byte> after(to.size() * static_cast<std::size_t>(block));
  for (std::size_t i = 0; i < from.size(); ++i) {
    runner.read_at(moving.tensor, from[i] * block, part(before, i));
  }
  moving.group.all_to_all_v(before.data(), sent, after.data(), received, block, moving.call);
  for (std::size_t i = 0; i < to.size(); ++i) {
    runner.write_at(moving.tensor, to[i] * block, part(after, i));
  }
}

/// The same of a state of which ranks have shares: shares cut across blocks, so that whole states
/// are gathered.
void move_shared_blocks(const Moving& moving, const std::vector<ExpertMove>& moves,
                        const SharedStates& states) {
  const std::vector<std::byte> before = states.read(moving.runner, moving.parameter, moving.tensor);
  std::vector<std::byte> after = before;
  std::vector<Segment> sent, received;
  for (const ExpertMove& move : moves) {
    if (move.from == moving.group.rank) sent.push_back({move.to, move.block, 1});
    if (move.to == moving.group.rank) received.push_back({move.from, move.to_block, 1});
  }
  moving.group.all_to_all_v(before.data(), sent, after.data(), received,
                            static_cast<std::int64_t>(before.size()) / moving.own, moving.call);
  SharedStates::write(moving.runner, moving.parameter, moving.tensor, after);
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
      const Moving moving{runner, parameter, id, own, *group, call};
      if (is_shared_state(runner.program(), parameter, id)) {
        move_shared_blocks(moving, moves, states);
      } else {
        move_blocks(moving, moves);
      }
    }
  }
}

}  // namespace moe
