#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct ScaleBody {
  Wide<Stored> factor;

  MOE_BODY Wide<Stored> operator()(Stored x) const { return x * factor; }
};

/// A team per row.
template <class Stored>
struct ScaleRowsBody {
  const Stored* x;
  const Wide<Stored>* factors;
  Stored* y;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Wide<Stored> factor = factors[row];
    team.map(
        width, y + row * width, [=](Stored value) { return value * factor; }, x + row * width);
  }
};

/// dx = factor dy, d_factor = sum of dy x. A team per row.
template <class Stored>
struct ScaleRowsGradientBody {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* x;
  const Real* factors;
  Stored* dx;
  Real* d_factors;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Stored* gradient = dy + row * width;
    const Real factor = factors[row];
    const Real sum = team.sum(
        width, [](Stored d, Stored value) { return Real(d) * Real(value); }, gradient,
        x + row * width);
    team.map(
        width, dx + row * width, [=](Stored d) { return d * factor; }, gradient);
    if (team.leader()) d_factors[row] = sum;
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Scale& kind, const BoundOp& bound) {
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  const ScaleBody<Stored> body{static_cast<Wide<Stored>>(kind.factor)};
  for_each_run(bound, bound.writes[0].columns, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, y + begin, body, x + begin);
  });
}

template <class Stored, class Exec>
void launch(Exec& exec, const ScaleRows&, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns,
            ScaleRowsBody<Stored>{data_of<Stored>(x), data_of<Wide<Stored>>(bound.reads[1]),
                                  data_of<Stored>(bound.writes[0]), x.columns});
}

template <class Stored, class Exec>
void launch(Exec& exec, const ScaleRowsGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows, dy.columns,
            ScaleRowsGradientBody<Stored>{data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                          data_of<Wide<Stored>>(bound.reads[2]),
                                          data_of<Stored>(bound.writes[0]),
                                          data_of<Wide<Stored>>(bound.writes[1]), dy.columns});
}

}  // namespace moe
