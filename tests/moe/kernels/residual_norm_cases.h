#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/program/op.h"

/// A sum and the norm of it, issued together, on any backend.
namespace moe::test {

/// Where the norm's output lies: apart from what the sum reads, in the place of its second operand,
/// or a row further, where it would overwrite rows that are still to be read.
enum class NormPlace : std::uint8_t { apart, of_operand, a_row_further };

struct ResidualNormCase {
  std::string name;
  OpKind norm;
  std::int64_t rows, width;
  NormPlace place;
};

/// Both norms, rows of a part of a warp, of a warp and of a block, in all places.
std::vector<ResidualNormCase> residual_norm_cases();

/// All bytes after the sum and the norm, by execute_together() or one by one.
std::vector<std::byte> residual_normed(Backend& backend, const ResidualNormCase& one, DType dtype,
                                       bool together);

/// Whether the two are one launch.
bool is_one_launch(const ResidualNormCase& one, DType dtype);

}  // namespace moe::test
