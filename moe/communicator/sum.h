#pragma once

#include <cstdint>
#include <span>

#include "moe/rows/tensor.h"

namespace moe {

/// sum[i] = parts[0][i] + parts[1][i] + ..., added from the first to the last. Every host
/// communicator adds in rank order, so a sum has the same bits with each of them and on every rank.
/// `sum` may be one of the parts. Throws std::invalid_argument when there are no parts.
void sum_in_order(std::span<const void* const> parts, void* sum, std::int64_t count, DType dtype);

}  // namespace moe
