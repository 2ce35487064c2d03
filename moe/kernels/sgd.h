#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "moe/kernels/device.h"
#include "moe/kernels/learning_rate.h"
#include "moe/kernels/master.h"
#include "moe/kernels/parameter_blocks.h"

namespace moe {

/// What an update of one parameter works on.
template <class Stored>
struct SgdTensors {
  using Real = Wide<Stored>;
  const Real* gradient;
  UpdatedParameter<Stored> parameter;
  Real* velocity;
  std::int64_t count;
  double weight_decay;
};

/// g += weight_decay p, v = momentum v + g, p -= learning_rate v; with Nesterov's momentum
/// p -= learning_rate (g + momentum v).   [Sutskever et al. 2013, as PyTorch writes it]
/// A team per block of elements, since only the device knows the step.
template <class Stored, int capacity>
struct SgdBody {
  static constexpr bool kWideRows = true;
  using Real = Wide<Stored>;
  using Blocks = ParameterBlocks<SgdTensors<Stored>, capacity>;
  Blocks blocks;
  const std::int32_t* step;
  const Real* clip_factor;  ///< may be null
  SgdStep op;               ///< but its weight decay

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t block) const {
    const int parameter = blocks.parameter_of(block);
    const std::int64_t begin = blocks.begin_of(block, parameter);
    const SgdTensors<Stored>& tensors = blocks.tensors[parameter];
    const std::int64_t left = tensors.count - begin;
    const std::int64_t size = left < Blocks::kBlock ? left : Blocks::kBlock;
    const Real* gradients = tensors.gradient + begin;
    const UpdatedParameter<Stored> p = tensors.parameter.from(begin);
    Real* v = tensors.velocity + begin;
    const Real rate = static_cast<Real>(rate_at(op.rate, *step));
    const Real momentum = static_cast<Real>(op.momentum);
    const auto update = [&](auto updated) {
      update_parameter(team, size, gradients, p, updated, v);
    };
    if (clip_factor == nullptr && tensors.weight_decay == 0 && !op.nesterov) {
      update([=](Real g, Real old, Real& moved) {
        moved = momentum * moved + g;
        return old - rate * moved;
      });
      return;
    }
    const Real factor = clip_factor == nullptr ? Real(1) : *clip_factor;
    if (factor < 0) return;  // no step
    const Real decay = static_cast<Real>(tensors.weight_decay);
    // What an update takes of the gradient and of the new momentum.
    const Real of_gradient = op.nesterov ? Real(1) : Real(0);
    const Real of_moved = op.nesterov ? momentum : Real(1);
    update([=](Real gradient, Real old, Real& moved) {
      const Real g = factor * gradient + decay * old;
      moved = momentum * moved + g;
      return old - rate * (of_gradient * g + of_moved * moved);
    });
  }
};

/// As that of AdamStep.
template <class Stored, int capacity, class Exec>
void launch_updates(Exec& exec, const SgdStep& op, std::span<const BoundOp* const> bound) {
  using Real = Wide<Stored>;
  const BoundOp& first = *bound.front();
  SgdBody<Stored, capacity> body{
      {}, data_of<std::int32_t>(first.reads[1]), factor_of<Real>(first, 1), op};
  for (const BoundOp* one : bound) {
    body.blocks.add({data_of<Real>(one->reads[0]), parameter_of<Stored>(*one, 1),
                     data_of<Real>(one->writes[1]), count_of(one->writes[0]),
                     std::get<SgdStep>(one->op->kind).weight_decay});
  }
  exec.rows(body.blocks.blocks(), decltype(body.blocks)::kBlock, body);
}

template <class Stored, class Exec>
void launch(Exec& exec, const SgdStep& op, const BoundOp& bound) {
  const BoundOp* const one[] = {&bound};
  launch_updates<Stored, 1>(exec, op, one);
}

}  // namespace moe
