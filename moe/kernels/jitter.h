#pragma once

#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// 64 well mixed bits of a counter (the finalizer of SplitMix64).
MOE_BODY std::uint64_t mixed_bits(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

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
    const std::uint64_t stream = mixed_bits(seed ^ mixed_bits(pass));
    const std::uint64_t bits = mixed_bits(stream + first + static_cast<std::uint64_t>(i));
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
