#include "moe/train/move_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "moe/program/expert_state.h"

namespace moe {
namespace {

using Bytes = std::vector<std::byte>;

/// A tensor on its way from one stage to another.
struct StageMove {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
};

/// What arrives at this stage; nothing at others. Members of `group` are the stages.
Bytes moved_tensor(const Bytes& held, const StageMove& move, Communicator& group,
                   const CallContext& call) {
  std::vector<Segment> sent, received;
  if (group.rank == move.from) sent.push_back({move.to, 0, 1});
  if (group.rank == move.to) received.push_back({move.from, 0, 1});
  Bytes arrived(static_cast<std::size_t>(received.empty() ? 0 : move.bytes));
  group.all_to_all_v(held.data(), sent, arrived.data(), received, move.bytes, call);
  return arrived;
}

}  // namespace

bool have_same_stages(const Program& a, const Program& b) {
  return std::ranges::equal(a.parameters, b.parameters, {}, &Parameter::stage, &Parameter::stage);
}

void move_blocks(Runner& runner, Program next, const SharedStates& states, Communicator& world,
                 double time_limit_s) {
  const Program& whole = runner.whole();
  const Groups& groups = whole.groups;
  const int stage = stage_of(groups, world.rank);
  std::vector<int> same_place;
  for (int other = 0; other < whole.stages; ++other) {
    same_place.push_back(other * stage_ranks(groups) + rank_in_stage(groups, world.rank));
  }
  const std::unique_ptr<Communicator> group = world.split(same_place);
  CallContext call;
  call.time_limit_s = time_limit_s;
  std::vector<Bytes> kept;  // of the parameters that this stage will have, in their order
  auto own = runner.program().parameters.begin();  // in the order of the whole
  for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
    const Parameter& parameter = whole.parameters[i];
    const int from = parameter.stage, to = next.parameters.at(i).stage;
    const Tensor& value = whole.tensors[static_cast<std::size_t>(parameter.value)];
    const std::vector<TensorId> tensors = tensors_that_move(parameter);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = whole.tensors[static_cast<std::size_t>(tensors[t])];
      Bytes held;
      if (from == stage) held = states.read(runner, *own, tensors_that_move(*own)[t]);
      if (from != to) {
        call.what = "move of " + tensor.name;
        // All of it, also where each rank has its share of a state.
        const std::int64_t bytes = value.rows * value.columns * bytes_of(tensor.dtype);
        held = moved_tensor(held, {from, to, bytes}, *group, call);
      }
      if (to == stage) kept.push_back(std::move(held));
    }
    if (from == stage) ++own;
  }
  runner.reschedule(std::move(next));
  auto one = kept.begin();
  for (const Parameter& parameter : runner.program().parameters) {
    for (const TensorId tensor : tensors_that_move(parameter)) {
      SharedStates::write(runner, parameter, tensor, *one++);
    }
  }
}

}  // namespace moe
