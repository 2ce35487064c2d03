#include "moe/train/initialize.h"

#include <string_view>

#include "moe/kernels/fill.h"
#include "moe/train/shared_states.h"

namespace moe {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// What the parameter begins with; the elements held are left open.
InitialValues initial_values(const Program& program, const Parameter& parameter,
                             std::int64_t seed) {
  InitialValues values;
  switch (parameter.initial) {
    case Initial::zero:
      break;
    case Initial::one:
      values.constant = 1;
      break;
    case Initial::normal: {
      const Tensor& tensor = program.tensors[parameter.value];
      values.standard_deviation = parameter.standard_deviation;
      values.key = parameter_key(seed, hash_of(tensor.name));
      values.shard = parameter.shard;
      values.columns = tensor.columns;
      break;
    }
  }
  return values;
}

}  // namespace

void initialize_parameters(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  for (const Parameter& parameter : program.parameters) {
    InitialValues values = initial_values(program, parameter, seed);
    const auto fill = [&](TensorId tensor) {
      values.held = without_empty_blocks(program, parameter,
                                         held_elements(program, parameter, tensor, runner.rank()));
      runner.fill(tensor, values);
    };
    fill(parameter.value);
    if (parameter.remainder >= 0) fill(parameter.remainder);
    runner.fill(parameter.gradient, {});
    for (const TensorId state : parameter.optimizer_state) {
      if (state != parameter.remainder) runner.fill(state, {});
    }
  }
}

}  // namespace moe
