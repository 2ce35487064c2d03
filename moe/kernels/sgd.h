#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/master.h"

namespace moe {

/// v = momentum v + g, p -= learning_rate v. What is updated is the master of a parameter that is
/// stored in fewer bits.
template <class Stored>
struct SgdBody {
  using Real = Wide<Stored>;
  const Real* gradient;
  Real* parameter;
  Stored* stored;
  Real* velocity;
  Real learning_rate, momentum;

  MOE_BODY void operator()(std::int64_t i) const {
    const Real v = momentum * velocity[i] + gradient[i];
    velocity[i] = v;
    parameter[i] -= learning_rate * v;
    if constexpr (!std::is_same_v<Stored, Real>) stored[i] = parameter[i];
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const SgdStep& op, const BoundOp& bound) {
  using Real = Wide<Stored>;
  exec.elements(
      count_of(bound.writes[0]),
      SgdBody<Stored>{data_of<Real>(bound.reads[0]), updated_of<Stored>(bound, 2),
                      data_of<Stored>(bound.writes[0]), data_of<Real>(bound.writes[1]),
                      static_cast<Real>(op.learning_rate), static_cast<Real>(op.momentum)});
}

}  // namespace moe
