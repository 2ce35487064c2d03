#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Turns the heads of q and k by `sense` times the angles of moe/ops/rotary.h and copies v. `in`
/// may be `out`. A team per token. Angles are in double: after 4000 turns a float is exact to a
/// thousandth only.
template <class Stored>
struct RotaryBody {
  using Real = Wide<Stored>;
  const Stored* in;
  Stored* out;
  std::int64_t columns, turned_heads, head_width, sequence_length;
  double log_base, sense;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const Stored* const x = in + token * columns;
    Stored* const y = out + token * columns;
    const std::int64_t heads = turned_heads, width = head_width, half = width / 2;
    const double position = sense * static_cast<double>(token % sequence_length);
    const double rate = -2 * log_base / static_cast<double>(width);
    team.for_each(half, [=](std::int64_t c) {
      const double angle = position * std::exp(rate * static_cast<double>(c));
      const Real cosine = static_cast<Real>(std::cos(angle));
      const Real sine = static_cast<Real>(std::sin(angle));
      for (std::int64_t i = c; i < heads * width; i += width) {
        const Real first = x[i], second = x[i + half];
        y[i] = first * cosine - second * sine;
        y[i + half] = first * sine + second * cosine;
      }
    });
    const std::int64_t values = heads * width;
    team.for_each(columns - values, [=](std::int64_t c) { y[values + c] = x[values + c]; });
  }
};

template <class Stored, class Exec, class Kind>
void turn_heads(Exec& exec, const Kind& op, const BoundOp& bound, double sense) {
  const View& qkv = bound.reads[0];
  const std::int64_t parts = op.heads + 2 * std::int64_t{op.key_value_heads};
  const std::int64_t head_width = qkv.columns / parts;
  if (qkv.columns % parts != 0 || head_width % 2 != 0) {
    throw std::logic_error("rotary: " + std::to_string(qkv.columns) + " columns for " +
                           std::to_string(parts) + " heads of even width");
  }
  exec.rows(qkv.rows, qkv.columns,
            RotaryBody<Stored>{data_of<Stored>(qkv), data_of<Stored>(bound.writes[0]), qkv.columns,
                               op.heads + std::int64_t{op.key_value_heads}, head_width,
                               op.sequence_length, std::log(op.base), sense});
}

template <class Stored, class Exec>
void launch(Exec& exec, const Rotary& op, const BoundOp& bound) {
  turn_heads<Stored>(exec, op, bound, 1);
}
template <class Stored, class Exec>
void launch(Exec& exec, const RotaryGradient& op, const BoundOp& bound) {
  turn_heads<Stored>(exec, op, bound, -1);
}

}  // namespace moe
