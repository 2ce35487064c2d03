#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/rotary_rate.h"
#include "moe/kernels/view.h"

namespace moe {

/// Turns the heads of q and k by `sense` times the angles of moe/ops/rotary.h and copies v. `in`
/// may be `out`. Angles are in double: after 4000 turns a float is exact to a thousandth only. A
/// team per position and group of sequences, whose tokens there have the same angles: so they are
/// worked out once for `kSequences` tokens and all of their heads.
template <class Stored>
struct RotaryBody {
  using Real = Wide<Stored>;
  static constexpr std::int64_t kSequences = 4;
  const Stored* in;
  Stored* out;
  std::int64_t tokens, columns, turned_heads, head_width, turned_columns, sequence_length;
  RotaryRate rate;
  double magnitude, sense;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int64_t position = row % sequence_length;
    const double turns = sense * static_cast<double>(position);
    team.for_each(turned_columns / 2, [=, this](std::int64_t c) {
      const double angle = turns * rate(c);
      turn(row, c, static_cast<Real>(magnitude * std::cos(angle)),
           static_cast<Real>(magnitude * std::sin(angle)));
    });
    if (in == out) return;
    const std::int64_t width = head_width, turned = turned_columns, last = end_of(row);
    const std::int64_t heads = turned_heads;
    for (std::int64_t token = first_of(row); token < last; token += sequence_length) {
      const Stored* const x = in + token * columns;
      Stored* const y = out + token * columns;
      team.for_each(columns, [=](std::int64_t c) {
        if (c / width >= heads || c % width >= turned) y[c] = x[c];
      });
    }
  }

 private:
  /// The first of the tokens of a row, and the end of its group of sequences.
  MOE_BODY std::int64_t first_of(std::int64_t row) const {
    return row / sequence_length * kSequences * sequence_length + row % sequence_length;
  }
  MOE_BODY std::int64_t end_of(std::int64_t row) const {
    const std::int64_t end = (row / sequence_length + 1) * kSequences * sequence_length;
    return end < tokens ? end : tokens;
  }
  /// Turns the pair of elements c and c + turned_columns / 2 of every head of the row's tokens.
  MOE_BODY void turn(std::int64_t row, std::int64_t c, Real cosine, Real sine) const {
    const std::int64_t width = head_width, half = turned_columns / 2, last = end_of(row);
    for (std::int64_t token = first_of(row); token < last; token += sequence_length) {
      const Stored* x = in + token * columns + c;
      Stored* y = out + token * columns + c;
      for (std::int64_t head = 0; head < turned_heads; ++head, x += width, y += width) {
        const Real a = x[0], b = x[half];
        y[0] = a * cosine - b * sine;
        y[half] = a * sine + b * cosine;
      }
    }
  }
};

template <class Stored, class Exec, class Kind>
void turn_heads(Exec& exec, const Kind& op, const BoundOp& bound, double sense) {
  const View& qkv = bound.reads[0];
  const std::int64_t parts = op.heads + 2 * std::int64_t{op.key_value_heads};
  const std::int64_t head_width = qkv.columns / parts;
  const std::int64_t turned = op.angles.columns > 0 ? op.angles.columns : head_width;
  if (qkv.columns % parts != 0 || turned % 2 != 0 || turned > head_width) {
    throw std::logic_error("rotary: " + std::to_string(qkv.columns) + " columns for " +
                           std::to_string(parts) + " heads, of which " + std::to_string(turned) +
                           " columns turn");
  }
  const std::int64_t length = op.sequence_length;
  const std::int64_t group = length * RotaryBody<Stored>::kSequences;
  exec.rows((qkv.rows + group - 1) / group * length, qkv.columns * RotaryBody<Stored>::kSequences,
            RotaryBody<Stored>{data_of<Stored>(qkv), data_of<Stored>(bound.writes[0]), qkv.rows,
                               qkv.columns, op.heads + std::int64_t{op.key_value_heads}, head_width,
                               turned, length, RotaryRate::of(op.angles, turned),
                               op.angles.magnitude, sense});
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
