#include "moe/train/change_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "moe/program/shareable_state.h"
#include "moe/rows/element_share.h"
#include "moe/train/move_blocks.h"
#include "moe/train/move_experts.h"

namespace moe {
namespace {

bool share_alike(const Program& a, const Program& b) {
  return std::ranges::equal(a.parameters, b.parameters, {}, &Parameter::shares_state,
                            &Parameter::shares_state);
}

/// Calls f(parameter, state) for the states that ranks may share out.
template <class F>
void for_shareable(const Runner& runner, const F& f) {
  for (const Parameter& parameter : runner.program().parameters) {
    if (!may_share_state(runner.program(), parameter)) continue;
    for (const TensorId state : parameter.optimizer_state) f(parameter, state);
  }
}

/// What the rank has of a whole state once it is shared out, in a tensor of the largest share.
std::vector<std::byte> own_share(const Runner& runner, const Parameter& parameter, TensorId state) {
  const Program& program = runner.program();
  const Tensor& whole = program.tensors[state];
  const ElementRange all{0, whole.rows * whole.columns};
  const int ranks = group_size(program.groups, parameter.replicas);
  const ElementRange own =
      element_share(all, index_in_group(program.groups, parameter.replicas, runner.rank()), ranks);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * bytes_of(whole.dtype));
  };
  std::vector<std::byte> held(bytes(largest_share(all.count, ranks)));
  runner.read_at(state, own.begin * bytes_of(whole.dtype), std::span(held).first(bytes(own.count)));
  return held;
}

}  // namespace

void change_program(Runner& runner, Program next, const SharedStates& states, Communicator& world,
                    double time_limit_s) {
  move_experts(runner, next.homes, states, world, time_limit_s);
  if (!have_same_stages(runner.whole(), next)) {
    move_blocks(runner, std::move(next), states, world, time_limit_s);
    return;
  }
  if (share_alike(runner.whole(), next)) {
    runner.reschedule(std::move(next));
    return;
  }
  // States that no ranks share keep their places (memory/memory_plan.h). Before it is shared out, a
  // rank has its own share.
  std::vector<std::vector<std::byte>> moved;
  for_shareable(runner, [&](const Parameter& parameter, TensorId state) {
    moved.push_back(parameter.shares_state ? states.read(runner, parameter, state)
                                           : own_share(runner, parameter, state));
  });
  runner.reschedule(std::move(next));
  auto from = moved.begin();
  for_shareable(runner, [&](const Parameter&, TensorId state) { runner.write(state, *from++); });
}

}  // namespace moe
