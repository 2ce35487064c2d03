#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/tensor.h"

namespace moe {

/// sum[i] = parts[0][i] + parts[1][i] + ..., added from the first to the last, bf16 in float and
/// rounded once. So a sum has the same bits on every rank. `sum` may be one of the parts. Throws
/// std::invalid_argument when there are no parts.
void sum_in_order(std::span<const void* const> parts, void* sum, std::int64_t count, DType dtype);

/// The same in two steps: first the parts of each set are added in order, then the sums of the
/// sets. `sum` may be one of the parts. Throws std::invalid_argument when a set has no parts, or
/// when there are no sets.
void sum_of_sums(std::span<const std::vector<const void*>> sets, void* sum, std::int64_t count,
                 DType dtype);

}  // namespace moe
