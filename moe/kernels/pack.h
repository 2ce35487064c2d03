#pragma once

#include <bit>
#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// Packs two numbers into an integer, the first in its lower half. A team per row.
template <class Stored>
struct PackBf16Body {
  const Stored* x;
  std::int32_t* packed;
  std::int64_t width, words;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Stored* in = x + row * width;
    std::int32_t* out = packed + row * words;
    const std::int64_t n = width;
    team.for_each(words, [=](std::int64_t word) {
      const auto bits = [=](std::int64_t i) {
        const float value = i < n ? static_cast<float>(in[i]) : 0.0f;
        return std::uint32_t{Bf16(value).bits};
      };
      out[word] = static_cast<std::int32_t>(bits(2 * word) | bits(2 * word + 1) << 16);
    });
  }
};

template <class Stored>
struct UnpackBf16Body {
  const std::int32_t* packed;
  Stored* y;
  std::int64_t width, words;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int32_t* in = packed + row * words;
    Stored* out = y + row * width;
    team.for_each(width, [=](std::int64_t i) {
      const auto word = static_cast<std::uint32_t>(in[i / 2]);
      const std::uint32_t bits = i % 2 == 0 ? word << 16 : word & 0xffff0000u;
      out[i] = static_cast<Stored>(std::bit_cast<float>(bits));
    });
  }
};

/// Packs a row as the bits of its scale, then four numbers to an integer; halves are rounded away
/// from zero. A team per row.
template <class Stored>
struct PackInt8Body {
  static constexpr float kSmallestNormal = 0x1p-126f;
  const Stored* x;
  std::int32_t* packed;
  std::int64_t width, words;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Stored* in = x + row * width;
    std::int32_t* out = packed + row * words;
    const std::int64_t n = width;
    using Real = Wide<Stored>;
    const Real largest = team.max(n, [=](std::int64_t i) {
      const Real value = in[i];
      return value < 0 ? -value : value;
    });
    // The scale is NaN where a number of the row is NaN or infinite.
    const Real poison = team.sum(n, [=](std::int64_t i) { return in[i] * 0; });
    const float scale = static_cast<float>(largest) / 127.0f + static_cast<float>(poison);
    // The inverse of a subnormal scale may be infinite: such a row arrives as zeros.
    const float inverse = scale >= kSmallestNormal ? 1.0f / scale : 0.0f;
    if (team.leader()) out[0] = std::bit_cast<std::int32_t>(scale);
    team.for_each(words - 1, [=](std::int64_t word) {
      std::uint32_t bits = 0;
      for (int place = 0; place < 4; ++place) {
        const std::int64_t i = 4 * word + place;
        float scaled = i < n ? static_cast<float>(in[i]) * inverse : 0.0f;
        scaled = scaled > -127.0f ? scaled : -127.0f;
        scaled = scaled < 127.0f ? scaled : 127.0f;
        const auto q = static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5f : scaled + 0.5f);
        bits |= (static_cast<std::uint32_t>(q) & 0xffu) << (8 * place);
      }
      out[1 + word] = static_cast<std::int32_t>(bits);
    });
  }
};

template <class Stored>
struct UnpackInt8Body {
  const std::int32_t* packed;
  Stored* y;
  std::int64_t width, words;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int32_t* in = packed + row * words;
    Stored* out = y + row * width;
    const float scale = std::bit_cast<float>(in[0]);
    team.for_each(width, [=](std::int64_t i) {
      const std::uint32_t byte = static_cast<std::uint32_t>(in[1 + i / 4]) >> (8 * (i % 4)) & 0xffu;
      const auto q = static_cast<float>(static_cast<std::int8_t>(byte));
      out[i] = static_cast<Stored>(q * scale);
    });
  }
};

/// Calls f(row) for the rows of the op's slice, range by range.
template <class Exec, class F>
void slice_rows(Exec& exec, const BoundOp& bound, std::int64_t width, F at) {
  for (const RowRange& range : bound.ranges) exec.rows(range.rows, width, at(range.begin));
}

template <class Stored, class Exec>
void launch(Exec& exec, const PackRows& op, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns, words = bound.writes[0].columns;
  const Stored* x = data_of<Stored>(bound.reads[0]);
  std::int32_t* packed = data_of<std::int32_t>(bound.writes[0]);
  switch (op.format) {
    case WireFormat::bf16:
      return slice_rows(exec, bound, width, [=](std::int64_t first) {
        return PackBf16Body<Stored>{x + first * width, packed + first * words, width, words};
      });
    case WireFormat::int8:
      return slice_rows(exec, bound, width, [=](std::int64_t first) {
        return PackInt8Body<Stored>{x + first * width, packed + first * words, width, words};
      });
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const UnpackRows& op, const BoundOp& bound) {
  const std::int64_t width = bound.writes[0].columns, words = bound.reads[0].columns;
  const std::int32_t* packed = data_of<std::int32_t>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  switch (op.format) {
    case WireFormat::bf16:
      return slice_rows(exec, bound, width, [=](std::int64_t first) {
        return UnpackBf16Body<Stored>{packed + first * words, y + first * width, width, words};
      });
    case WireFormat::int8:
      return slice_rows(exec, bound, width, [=](std::int64_t first) {
        return UnpackInt8Body<Stored>{packed + first * words, y + first * width, width, words};
      });
  }
}

}  // namespace moe
