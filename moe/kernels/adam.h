#pragma once

#include <algorithm>
#include <cmath>

#include "moe/kernels/device.h"
#include "moe/kernels/learning_rate.h"
#include "moe/kernels/master.h"

namespace moe {

/// p *= 1 - learning_rate weight_decay,                 [Loshchilov and Hutter 2019, Algorithm 2]
/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= learning_rate m' / (sqrt(v') + epsilon),
/// m' = m / (1 - beta1^step), v' = v / (1 - beta2^step).   [Kingma and Ba 2015, Algorithm 1]
/// A team per block of elements: only the device knows the step, and computing two powers for every
/// element would cost more than the update. One member of the team computes them, in double.
template <class Stored>
struct AdamBody {
  using Real = Wide<Stored>;
  static constexpr std::int64_t kBlock = 4096;
  const Real* gradient;
  const std::int32_t* step;
  const Real* clip_factor;  ///< may be null
  Real* parameter;          ///< its master where it is stored in fewer bits
  Stored* stored;
  Real* first_moment;
  Real* second_moment;
  std::int64_t count;
  AdamStep op;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t block) const {
    const std::int64_t begin = block * kBlock;
    const std::int64_t size = count - begin < kBlock ? count - begin : kBlock;
    const Real* g = gradient + begin;
    Real* p = parameter + begin;
    Stored* narrow = stored + begin;
    Real* m = first_moment + begin;
    Real* v = second_moment + begin;
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
    const Real kept = static_cast<Real>(1 - learning_rate * op.weight_decay);
    team.for_each(size, [=](std::int64_t i) {
      const Real clipped = factor * g[i];
      const Real first = m[i] + new1 * (clipped - m[i]);
      const Real second = v[i] + new2 * (clipped * clipped - v[i]);
      m[i] = first;
      v[i] = second;
      p[i] = kept * p[i] - rate * first / (std::sqrt(second) * root + epsilon);
      if constexpr (!std::is_same_v<Stored, Real>) narrow[i] = p[i];
    });
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const AdamStep& op, const BoundOp& bound) {
  using Real = Wide<Stored>;
  using Body = AdamBody<Stored>;
  const std::int64_t count = count_of(bound.writes[0]);
  const Real* factor = bound.reads.size() > 5 ? data_of<Real>(bound.reads[5]) : nullptr;
  exec.rows((count + Body::kBlock - 1) / Body::kBlock, Body::kBlock,
            Body{data_of<Real>(bound.reads[0]), data_of<std::int32_t>(bound.reads[1]), factor,
                 updated_of<Stored>(bound, 3), data_of<Stored>(bound.writes[0]),
                 data_of<Real>(bound.writes[1]), data_of<Real>(bound.writes[2]), count, op});
}

}  // namespace moe
