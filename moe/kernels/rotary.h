#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/rotary_rate.h"
#include "moe/kernels/view.h"
#include "moe/kernels/wide_loads.h"
#include "moe/ops/head_widths.h"

namespace moe {

/// x[columns] -> y: what no angle turns, of the first `heads` heads the columns from `turned` on,
/// and all that is behind them.
template <class Stored, class Team>
MOE_BODY void copy_unturned(Team& team, std::int64_t columns, std::int64_t heads,
                            std::int64_t width, std::int64_t turned, const Stored* x, Stored* y) {
  team.for_each(columns, [=](std::int64_t c) {
    if (c / width >= heads || c % width >= turned) y[c] = x[c];
  });
}

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
    const std::int64_t last = end_of(row);
    for (std::int64_t token = first_of(row); token < last; token += sequence_length) {
      copy_unturned(team, columns, turned_heads, head_width, turned_columns, in + token * columns,
                    out + token * columns);
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

/// angles[position, 0 or 1, c]: cosine and sine of the angle, worked out as RotaryBody does.
template <class Real>
struct StoreAnglesBody {
  Real* angles;
  std::int64_t half;
  RotaryRate rate;
  double magnitude, sense;

  MOE_BODY void operator()(std::int64_t i) const {
    const std::int64_t position = i / half, c = i % half;
    const double angle = sense * static_cast<double>(position) * rate(c);
    Real* const out = angles + 2 * half * position + c;
    out[0] = static_cast<Real>(magnitude * std::cos(angle));
    out[half] = static_cast<Real>(magnitude * std::sin(angle));
  }
};

/// As RotaryBody, with angles that are stored and `pack` pairs at a time. A team per token.
template <class Stored, int pack>
struct TurnByAnglesBody {
  static constexpr bool kWideRows = true;
  using Real = Wide<Stored>;
  const Stored* in;
  Stored* out;
  const Real* angles;
  std::int64_t columns, sequence_length;
  std::int32_t turned_heads, head_width, half;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const Stored* const x = in + token * columns;
    Stored* const y = out + token * columns;
    const std::int32_t of_head = half / pack, width = head_width / pack;  // packs
    const Real* const cosines = angles + token % sequence_length * 2 * half;
    team.for_each(std::int64_t{turned_heads} * of_head, [=](std::int64_t i) {
      const auto which = static_cast<std::int32_t>(i);
      const std::int32_t head = which / of_head, place = which % of_head;
      const std::int64_t first = std::int64_t{head} * width + place, second = first + of_head;
      const Pack<Stored, pack> a = pack_at<pack>(x, first), b = pack_at<pack>(x, second);
      const Pack<Real, pack> cosine = pack_at<pack>(cosines, place),
                             sine = pack_at<pack>(cosines, of_head + place);
      Pack<Stored, pack> turned_a, turned_b;
      for (int k = 0; k < pack; ++k) {
        turned_a.value[k] = a.value[k] * cosine.value[k] - b.value[k] * sine.value[k];
        turned_b.value[k] = a.value[k] * sine.value[k] + b.value[k] * cosine.value[k];
      }
      pack_at<pack>(y, first) = turned_a;
      pack_at<pack>(y, second) = turned_b;
    });
    if (in != out) {
      copy_unturned(team, columns, turned_heads, head_width, std::int64_t{2} * half, x, y);
    }
  }
};

/// False, having done nothing, where the executor has no room for the angles of all positions.
template <class Stored, class Exec>
bool turn_by_angles(Exec& exec, const RotaryBody<Stored>& body) {
  if constexpr (requires { exec.scratch(std::size_t{}); }) {
    using Real = Wide<Stored>;
    const std::int64_t half = body.turned_columns / 2, angles = body.sequence_length * half;
    auto* const room =
        static_cast<Real*>(exec.scratch(static_cast<std::size_t>(2 * angles) * sizeof(Real)));
    if (room == nullptr) return false;
    exec.elements(angles, StoreAnglesBody<Real>{room, half, body.rate, body.magnitude, body.sense});
    const auto turn = [&]<int pack>(std::integral_constant<int, pack>) {
      exec.rows(body.tokens, body.columns,
                TurnByAnglesBody<Stored, pack>{
                    body.in, body.out, room, body.columns, body.sequence_length,
                    static_cast<std::int32_t>(body.turned_heads),
                    static_cast<std::int32_t>(body.head_width), static_cast<std::int32_t>(half)});
    };
    const auto aligned = [](const Stored* at) {
      return reinterpret_cast<std::uintptr_t>(at) % kPackBytes == 0;
    };
    constexpr int most = kPackWidth<Stored>;
    if (half % most == 0 && body.head_width % most == 0 && body.columns % most == 0 &&
        aligned(body.in) && aligned(body.out)) {
      turn(std::integral_constant<int, most>{});
    } else {
      turn(std::integral_constant<int, 1>{});
    }
    return true;
  } else {
    return false;
  }
}

template <class Stored, class Exec, class Kind>
void turn_heads(Exec& exec, const Kind& op, const BoundOp& bound, double sense) {
  const View& qkv = bound.reads[0];
  const std::int64_t head_width =
      head_widths(qkv.columns, op.heads, op.key_value_heads, op.value_width, "rotary").keys;
  const std::int64_t turned = op.angles.columns > 0 ? op.angles.columns : head_width;
  if (turned % 2 != 0 || turned > head_width) {
    throw std::logic_error("rotary: heads of " + std::to_string(head_width) +
                           " columns, of which " + std::to_string(turned) + " turn");
  }
  const std::int64_t length = op.sequence_length;
  const RotaryBody<Stored> body{data_of<Stored>(qkv),
                                data_of<Stored>(bound.writes[0]),
                                qkv.rows,
                                qkv.columns,
                                op.heads + std::int64_t{op.key_value_heads},
                                head_width,
                                turned,
                                length,
                                RotaryRate::of(op.angles, turned),
                                op.angles.magnitude,
                                sense};
  if (turn_by_angles(exec, body)) return;
  const std::int64_t group = length * RotaryBody<Stored>::kSequences;
  exec.rows((qkv.rows + group - 1) / group * length, qkv.columns * RotaryBody<Stored>::kSequences,
            body);
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
