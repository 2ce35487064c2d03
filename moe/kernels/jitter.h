#pragma once

#include <cstdint>

#include "moe/kernels/counter_random.h"
#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Real>
struct JitterBody {
  const Real* x;
  const std::int32_t* step;
  Real* y;
  std::uint64_t seed;
  std::uint64_t micro_batch;
  std::uint64_t first;  ///< element of the micro-batch over all ranks
  Real epsilon;

  MOE_BODY void operator()(std::int64_t i) const {
    const std::uint64_t pass = micro_batch << 32 | static_cast<std::uint32_t>(*step);
    const std::uint64_t stream = mix(seed ^ mix(pass));
    const std::uint64_t bits = mix(stream + first + static_cast<std::uint64_t>(i));
    // 24 bits: what a float holds.
    const Real unit = static_cast<Real>(static_cast<std::int32_t>(bits >> 40)) / Real(8388608) - 1;
    y[i] = x[i] * (1 + epsilon * unit);
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const Jitter& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.elements(count_of(x),
                JitterBody<Real>{data_of<Real>(x), data_of<std::int32_t>(bound.reads[1]),
                                 data_of<Real>(bound.writes[0]), op.seed,
                                 static_cast<std::uint64_t>(bound.op->micro_batch),
                                 static_cast<std::uint64_t>(op.first_row * x.columns),
                                 static_cast<Real>(op.epsilon)});
}

}  // namespace moe
