#pragma once

#include <cuda_runtime_api.h>

#include "moe/communicator/one_gpu/memory.h"

namespace moe::one_gpu {

/// Enqueues the sum on `stream`, with the bits of sum_of_sums (communicator/sum.h), or of the ranks
/// of a chain. At most GpuCluster::kMostRanks parts. Throws CudaError where it cannot be enqueued.
void sum_on_device(const Sum& sum, cudaStream_t stream);

/// Enqueues the copy on `stream`, by a kernel of so many blocks.
void copy_on_device(const Copy& copy, int blocks, cudaStream_t stream);

}  // namespace moe::one_gpu
