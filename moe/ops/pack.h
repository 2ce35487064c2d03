#pragma once

#include <cstdint>
#include <string_view>

#include "moe/rows/op_facts.h"

/// Ops that pack rows into fewer bits before they are sent, and unpack them afterwards.
namespace moe {

/// How numbers are sent.
enum class WireFormat : std::uint8_t {
  bf16,  ///< 16 bits each, rounded to the nearest (ties to even)
  /// 8 bits each, q = x / s rounded to the nearest (ties away from zero), and a float s per row,
  /// its largest |x| / 127. Rows whose largest |x| is below 1.5e-36 arrive as zeros.
  int8,
};
std::string_view wire_format_name(WireFormat format);

/// The number of 32-bit integers into which a row of `columns` numbers is packed.
std::int64_t packed_columns(WireFormat format, std::int64_t columns);

/// x[n,c] -> packed i32[n,packed_columns] (one slice). A row with NaN or infinite values arrives as
/// NaN.
struct PackRows {
  static constexpr OpFacts facts =
      kernel_op("pack_rows", CostUnit::bytes, {Cut::rows}, {integers(Cut::rows)});
  WireFormat format = WireFormat::bf16;
  Work work(const OpSizes& sizes) const;
};
/// packed i32[n,packed_columns] -> y[n,c] (one slice)
struct UnpackRows {
  static constexpr OpFacts facts =
      kernel_op("unpack_rows", CostUnit::bytes, {integers(Cut::rows)}, {Cut::rows});
  WireFormat format = WireFormat::bf16;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
