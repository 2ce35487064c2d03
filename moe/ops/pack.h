#pragma once

#include <cstdint>
#include <string_view>

#include "moe/rows/op_facts.h"

/// Ops that make rows smaller for the way between ranks, and bring them back to what is left of them.
namespace moe {

/// How numbers travel.
enum class WireFormat : std::uint8_t {
  bf16,  ///< 16 bits each, rounded to the nearest (ties to even)
  int8,  ///< 8 bits each and a float for a row: q times the row's largest |x| / 127, q rounded to the nearest
};
std::string_view wire_format_name(WireFormat format);

/// Integers of 32 bits that a row of `columns` numbers is packed into.
std::int64_t packed_columns(WireFormat format, std::int64_t columns);

/// x[n,c] -> packed i32[n,packed_columns] (one slice). A row that is not all numbers arrives as none.
struct PackRows {
  static constexpr OpFacts facts =
      kernel_op("pack_rows", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  WireFormat format = WireFormat::bf16;
  Work work(const OpSizes& sizes) const;
};
/// packed i32[n,packed_columns] -> y[n,c] (one slice)
struct UnpackRows {
  static constexpr OpFacts facts =
      kernel_op("unpack_rows", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  WireFormat format = WireFormat::bf16;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
