#pragma once

#include <cstdint>
#include <vector>

#include "microbench/bench.h"

namespace microbench {

/// a + b of matrices of about `bytes` each, as training adds residuals: it reads two of them and
/// writes a third, so memory limits it. Its row has the bytes of one matrix, and no columns.
Case addition_case(const Bench& bench, moe::DType dtype, std::int64_t bytes);

/// The sizes of its buffers.
std::vector<std::int64_t> addition_bytes(moe::DType dtype, std::int64_t bytes);

}  // namespace microbench
