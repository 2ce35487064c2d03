#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/learning_rate.h"
#include "moe/kernels/master.h"

namespace moe {

/// g += weight_decay p, v = momentum v + g, p -= learning_rate v; with Nesterov's momentum
/// p -= learning_rate (g + momentum v).   [Sutskever et al. 2013, as PyTorch writes it]
/// What is updated is the master of a parameter that is stored in fewer bits. A team per block of
/// elements, since only the device knows the step.
template <class Stored>
struct SgdBody {
  using Real = Wide<Stored>;
  static constexpr std::int64_t kBlock = 4096;
  const Real* gradient;
  const std::int32_t* step;
  const Real* clip_factor;  ///< may be null
  Real* parameter;
  Stored* stored;
  Real* velocity;
  std::int64_t count;
  SgdStep op;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t block) const {
    const std::int64_t begin = block * kBlock;
    const std::int64_t size = count - begin < kBlock ? count - begin : kBlock;
    const Real* gradients = gradient + begin;
    Real* p = parameter + begin;
    Real* v = velocity + begin;
    Stored* narrow = stored + begin;
    const Real rate = static_cast<Real>(rate_at(op.rate, *step));
    const Real momentum = static_cast<Real>(op.momentum);
    if (clip_factor == nullptr && op.weight_decay == 0 && !op.nesterov) {
      team.for_each(size, [=](std::int64_t i) {
        const Real moved = momentum * v[i] + gradients[i];
        v[i] = moved;
        p[i] -= rate * moved;
        if constexpr (!std::is_same_v<Stored, Real>) narrow[i] = p[i];
      });
      return;
    }
    const Real factor = clip_factor == nullptr ? Real(1) : *clip_factor;
    if (factor < 0) return;  // no step
    const Real decay = static_cast<Real>(op.weight_decay);
    // What an update takes of the gradient and of the new momentum.
    const Real of_gradient = op.nesterov ? Real(1) : Real(0);
    const Real of_moved = op.nesterov ? momentum : Real(1);
    team.for_each(size, [=](std::int64_t i) {
      const Real g = factor * gradients[i] + decay * p[i];
      const Real moved = momentum * v[i] + g;
      v[i] = moved;
      p[i] -= rate * (of_gradient * g + of_moved * moved);
      if constexpr (!std::is_same_v<Stored, Real>) narrow[i] = p[i];
    });
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const SgdStep& op, const BoundOp& bound) {
  using Real = Wide<Stored>;
  using Body = SgdBody<Stored>;
  const std::int64_t count = count_of(bound.writes[0]);
  const Real* factor = bound.reads.size() > 4 ? data_of<Real>(bound.reads[4]) : nullptr;
  exec.rows((count + Body::kBlock - 1) / Body::kBlock, Body::kBlock,
            Body{data_of<Real>(bound.reads[0]), data_of<std::int32_t>(bound.reads[1]), factor,
                 updated_of<Stored>(bound, 2), data_of<Stored>(bound.writes[0]),
                 data_of<Real>(bound.writes[1]), count, op});
}

}  // namespace moe
