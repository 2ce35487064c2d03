#include "moe/program/stage_program.h"

#include <algorithm>
#include <cstddef>

namespace moe {
namespace {

/// The tensors of a whole Program that a stage has, renumbered in the same order.
class StageTensors {
 public:
  explicit StageTensors(std::size_t count) : here_(count, -1) {}

  void use(TensorId tensor) {
    if (tensor >= 0) here_[tensor] = 0;
  }
  void number() {
    TensorId next = 0;
    for (TensorId& here : here_) {
      if (here >= 0) here = next++;
    }
  }
  TensorId at(TensorId whole) const { return whole < 0 ? -1 : here_[whole]; }
  std::vector<TensorId> present(const std::vector<TensorId>& whole) const {
    std::vector<TensorId> result;
    for (const TensorId tensor : whole) {
      if (at(tensor) >= 0) result.push_back(at(tensor));
    }
    return result;
  }

 private:
  /// [tensor of the whole Program]; -1 where the stage does not have it.
  std::vector<TensorId> here_;
};

}  // namespace

StageProgram stage_program(const Program& whole, int stage) {
  StageProgram result;
  Program& program = result.program;
  program.groups = whole.groups;
  program.stages = whole.stages;
  program.micro_batches = whole.micro_batches;
  program.homes = whole.homes;
  for (std::size_t i = 0; i < whole.ops.size(); ++i) {
    if (!runs_in(whole.ops[i], stage)) continue;
    Op op = whole.ops[i];
    if (std::holds_alternative<PassOn>(op.kind)) (op.stage == stage ? op.writes : op.reads).clear();
    if (std::holds_alternative<ReduceTied>(op.kind)) {
      op.reads = op.writes = {op.reads.at(stage == op.stage ? 0 : 1)};
    }
    if (std::holds_alternative<ReduceNorm>(op.kind)) {
      op.reads = op.writes = {op.reads.at(static_cast<std::size_t>(stage))};
    }
    program.ops.push_back(std::move(op));
    result.op_of.push_back(static_cast<int>(i));
  }

  StageTensors tensors(whole.tensors.size());
  for (const Op& op : program.ops) {
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) tensors.use(use.tensor);
    }
  }
  for (const Parameter& parameter : whole.parameters) {
    if (parameter.stage != stage) continue;
    tensors.use(parameter.value);
    tensors.use(parameter.gradient);
    for (const TensorId state : parameter.optimizer_state) tensors.use(state);
  }
  tensors.use(whole.step);
  tensors.use(whole.norm_limit);
  // Also where the Program has no update phase, so that all have the same tensors.
  if (!whole.gradient_norms.empty()) {
    tensors.use(whole.gradient_norms.at(static_cast<std::size_t>(stage)));
  }
  tensors.number();

  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    if (tensors.at(static_cast<TensorId>(i)) >= 0) program.tensors.push_back(whole.tensors[i]);
  }
  for (Op& op : program.ops) {
    for (auto* uses : {&op.reads, &op.writes}) {
      for (Use& use : *uses) use.tensor = tensors.at(use.tensor);
    }
  }
  for (Parameter parameter : whole.parameters) {
    if (parameter.stage != stage) continue;
    parameter.value = tensors.at(parameter.value);
    parameter.gradient = tensors.at(parameter.gradient);
    for (TensorId& state : parameter.optimizer_state) state = tensors.at(state);
    if (parameter.remainder >= 0) parameter.remainder = tensors.at(parameter.remainder);
    program.parameters.push_back(std::move(parameter));
  }
  for (const TensorId tokens : whole.tokens) program.tokens.push_back(tensors.at(tokens));
  for (const TensorId targets : whole.targets) program.targets.push_back(tensors.at(targets));
  program.losses = tensors.present(whole.losses);
  program.auxiliary_losses = tensors.present(whole.auxiliary_losses);
  program.z_losses = tensors.present(whole.z_losses);
  program.gradient_norms = tensors.present(whole.gradient_norms);
  program.step = tensors.at(whole.step);
  program.norm_limit = tensors.at(whole.norm_limit);
  return result;
}

std::vector<StageProgram> stage_programs(const Program& whole) {
  std::vector<StageProgram> stages;
  for (int stage = 0; stage < whole.stages; ++stage) stages.push_back(stage_program(whole, stage));
  return stages;
}

}  // namespace moe
