#include "moe/model/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace moe {
namespace {

bool is_of_one_micro_batch(const Program& program, TensorId tensor) {
  switch (program.tensors[tensor].role) {
    case Role::activation:
    case Role::result:
      return true;
    case Role::input:
      return tensor != program.step;
    case Role::parameter:
    case Role::gradient:
    case Role::optimizer_state:
    case Role::replica:
      return false;
  }
  throw std::logic_error("is_of_one_micro_batch: no such role");
}

Op adding_gradients(const Program& program, Op op) {
  const bool writes_gradient = std::any_of(op.writes.begin(), op.writes.end(), [&](const Use& use) {
    return program.tensors[use.tensor].role == Role::gradient;
  });
  if (!writes_gradient) return op;
  if (!facts_of(op).writes.contain(Cut::sum)) {
    throw std::logic_error(
        fmt::format("micro-batches: \"{}\" cannot add to the gradients there are", op.name));
  }
  return accumulating(std::move(op));
}

/// Numbers are drawn by the place of a token in the global batch.
void draw_further(Op& op) {
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.draw; }) {
          kind.draw.first_token += op.micro_batch * kind.draw.micro_batch_tokens;
        }
      },
      op.kind);
}

/// The tensor of this micro-batch for every tensor of the first one.
std::vector<TensorId> copy_tensors(Program& program, std::size_t count, int micro_batch) {
  std::vector<TensorId> here;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<TensorId>(i);
    if (!is_of_one_micro_batch(program, first)) {
      here.push_back(first);
      continue;
    }
    Tensor tensor = program.tensors[i];
    tensor.name += fmt::format("#{}", micro_batch + 1);
    tensor.micro_batch = micro_batch;
    here.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(std::move(tensor));
  }
  return here;
}

}  // namespace

void repeat_for_micro_batches(Program& program, int count) {
  const std::vector<Op> once = program.ops;
  const std::size_t tensors = program.tensors.size();
  const std::vector<TensorId> auxiliary_losses = program.auxiliary_losses,
                              z_losses = program.z_losses;
  program.micro_batches = count;
  if (count == 1) return;
  for (Op& op : program.ops) op.name += " #1";
  for (int micro_batch = 1; micro_batch < count; ++micro_batch) {
    const std::vector<TensorId> here = copy_tensors(program, tensors, micro_batch);
    const auto at = [&](TensorId first) { return here[first]; };
    for (Op op : once) {
      op.micro_batch = micro_batch;
      op.name += fmt::format(" #{}", micro_batch + 1);
      for (auto* uses : {&op.reads, &op.writes}) {
        for (Use& use : *uses) use.tensor = at(use.tensor);
      }
      draw_further(op);
      program.ops.push_back(adding_gradients(program, std::move(op)));
    }
    program.tokens.push_back(at(program.tokens.front()));
    program.targets.push_back(at(program.targets.front()));
    program.losses.push_back(at(program.losses.front()));
    for (const TensorId loss : auxiliary_losses) program.auxiliary_losses.push_back(at(loss));
    for (const TensorId loss : z_losses) program.z_losses.push_back(at(loss));
  }
}

}  // namespace moe
