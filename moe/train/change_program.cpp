#include "moe/train/change_program.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "moe/train/move_experts.h"

namespace moe {
namespace {

bool share_alike(const Program& a, const Program& b) {
  return std::ranges::equal(a.parameters, b.parameters, {}, &Parameter::shares_state,
                            &Parameter::shares_state);
}

}  // namespace

void change_program(Runner& runner, Program next, const SharedStates& states, Communicator& world,
                    double time_limit_s) {
  move_experts(runner, next.homes, states, world, time_limit_s);
  if (share_alike(runner.whole(), next)) {
    runner.reschedule(std::move(next));
    return;
  }
  std::vector<std::vector<std::byte>> moved;
  for (const Parameter& parameter : runner.program().parameters) {
    for (const TensorId state : parameter.optimizer_state) {
      moved.push_back(states.read(runner, parameter, state));
    }
  }
  runner.reschedule(std::move(next));
  auto from = moved.begin();
  for (const Parameter& parameter : runner.program().parameters) {
    for (const TensorId state : parameter.optimizer_state) {
      SharedStates::write(runner, parameter, state, *from++);
    }
  }
}

}  // namespace moe
