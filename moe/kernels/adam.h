#pragma once

#include <cmath>
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
struct AdamTensors {
  using Real = Wide<Stored>;
  const Real* gradient;
  UpdatedParameter<Stored> parameter;
  Real* first_moment;
  Real* second_moment;
  std::int64_t count;
  double weight_decay;
};

/// p *= 1 - learning_rate weight_decay,                 [Loshchilov and Hutter 2019, Algorithm 2]
/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= learning_rate m' / (sqrt(v') + epsilon),
/// m' = m / (1 - beta1^step), v' = v / (1 - beta2^step).   [Kingma and Ba 2015, Algorithm 1]
/// A team per block of elements: only the device knows the step, and computing two powers for every
/// element would cost more than the update. One member of the team computes them, in double.
template <class Stored, int capacity>
struct AdamBody {
  static constexpr bool kWideRows = true;
  using Real = Wide<Stored>;
  using Blocks = ParameterBlocks<AdamTensors<Stored>, capacity>;
  Blocks blocks;
  const std::int32_t* step;
  const Real* clip_factor;  ///< may be null
  AdamStep op;              ///< but its weight decay

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t block) const {
    const int parameter = blocks.parameter_of(block);
    const std::int64_t begin = blocks.begin_of(block, parameter);
    const AdamTensors<Stored>& tensors = blocks.tensors[parameter];
    const std::int64_t left = tensors.count - begin;
    const std::int64_t size = left < Blocks::kBlock ? left : Blocks::kBlock;
    const Real* g = tensors.gradient + begin;
    const UpdatedParameter<Stored> p = tensors.parameter.from(begin);
    Real* m = tensors.first_moment + begin;
    Real* v = tensors.second_moment + begin;
    const double steps = *step;
    const AdamStep adam = op;
    const double learning_rate =
        team.sum(1, [=](std::int64_t) { return rate_at(adam.rate, steps); });
    const Real rate = static_cast<Real>(team.sum(
        1, [=](std::int64_t) { return learning_rate / (1 - std::pow(adam.beta1, steps)); }));
    const Real root = static_cast<Real>(
        team.sum(1, [=](std::int64_t) { return 1 / std::sqrt(1 - std::pow(adam.beta2, steps)); }));
    const Real new1 = static_cast<Real>(1 - op.beta1), new2 = static_cast<Real>(1 - op.beta2);
    const Real epsilon = static_cast<Real>(op.epsilon);
    const Real factor = clip_factor == nullptr ? Real(1) : *clip_factor;
    if (factor < 0) return;  // no step
    const Real kept = static_cast<Real>(1 - learning_rate * tensors.weight_decay);
    update_parameter(
        team, size, g, p,
        [=](Real gradient, Real old, Real& first, Real& second) {
          const Real clipped = factor * gradient;
          first += new1 * (clipped - first);
          second += new2 * (clipped * clipped - second);
          return kept * old - rate * first / (std::sqrt(second) * root + epsilon);
        },
        m, v);
  }
};

/// Updates all these parameters in one launch; there are at most `capacity`, and what is equal in
/// updates_alike() is that of the first.
template <class Stored, int capacity, class Exec>
void launch_updates(Exec& exec, const AdamStep& op, std::span<const BoundOp* const> bound) {
  using Real = Wide<Stored>;
  const BoundOp& first = *bound.front();
  AdamBody<Stored, capacity> body{
      {}, data_of<std::int32_t>(first.reads[1]), factor_of<Real>(first, 2), op};
  for (const BoundOp* one : bound) {
    body.blocks.add({data_of<Real>(one->reads[0]), parameter_of<Stored>(*one, 2),
                     data_of<Real>(one->writes[1]), data_of<Real>(one->writes[2]),
                     count_of(one->writes[0]), std::get<AdamStep>(one->op->kind).weight_decay});
  }
  exec.rows(body.blocks.blocks(), decltype(body.blocks)::kBlock, body);
}

template <class Stored, class Exec>
void launch(Exec& exec, const AdamStep& op, const BoundOp& bound) {
  const BoundOp* const one[] = {&bound};
  launch_updates<Stored, 1>(exec, op, one);
}

}  // namespace moe
