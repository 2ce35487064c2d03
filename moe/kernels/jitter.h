#pragma once

#include <cstdint>

#include "moe/kernels/counter_random.h"
#include "moe/kernels/device.h"
#include "moe/kernels/draw.h"
#include "moe/kernels/view.h"

namespace moe {

/// A team per token.
template <class Stored>
struct JitterBody {
  using Real = Wide<Stored>;
  const Stored* x;
  const std::int32_t* step;
  Stored* y;
  std::int64_t columns;
  Draw draw;
  Real epsilon;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Stored* in = x + t * columns;
    Stored* out = y + t * columns;
    const std::uint64_t key = token_key(draw.seed, draw.layer, *step, draw.first_token + t);
    const Real most = epsilon;
    team.for_each(columns, [=](std::int64_t c) {
      const Real u = 2 * short_unit<Real>(mix(key ^ static_cast<std::uint64_t>(c))) - 1;
      out[c] = in[c] * (1 + most * u);
    });
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Jitter& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns,
            JitterBody<Stored>{data_of<Stored>(x), data_of<std::int32_t>(bound.reads[1]),
                               data_of<Stored>(bound.writes[0]), x.columns, op.draw,
                               static_cast<Wide<Stored>>(op.epsilon)});
}

}  // namespace moe
