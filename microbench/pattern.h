#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/rows/tensor.h"

namespace microbench {

/// The value that rank `rank` contributes at element `i`. Values are small integers, so that sums
/// over up to 100000 ranks are exact in every type. Neighbouring ranks and elements differ.
inline std::int64_t pattern(int rank, std::int64_t i) {
  return (i * 7 + rank * 31 + i / 1021) % 97;
}

/// The addends of a sum over `ranks` ranks: pattern() or, in bf16, which has whole numbers only up
/// to 256, remainders of it so small that the sum is exact; beyond 256 ranks they are 0.
std::int64_t addend(moe::DType dtype, int ranks, int rank, std::int64_t i);
std::int64_t sum_of_addends(moe::DType dtype, int ranks, std::int64_t i);

/// Writes element(i) for i in [0, count) to memory of the backend, in the order of `stream`.
void fill(moe::Backend& backend, moe::Stream stream, std::byte* to, std::int64_t count,
          moe::DType dtype, const std::function<std::int64_t(std::int64_t)>& element);

/// How many elements of [0, count) are not exactly element(i), after `stream` has done everything
/// that was issued on it.
std::int64_t count_wrong(moe::Backend& backend, moe::Stream stream, const std::byte* from,
                         std::int64_t count, moe::DType dtype,
                         const std::function<std::int64_t(std::int64_t)>& element);

}  // namespace microbench
