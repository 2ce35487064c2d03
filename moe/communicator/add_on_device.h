#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "moe/rows/tensor.h"

namespace moe {

/// sum[i] = sum[i] + part[i] on the current device, in the order of `stream`. Throws CudaError
/// where it cannot be enqueued.
void add_on_device(void* sum, const void* part, std::int64_t count, DType dtype,
                   cudaStream_t stream);

}  // namespace moe
