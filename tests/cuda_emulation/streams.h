#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace moelab::cuda_emulation {

/// Waits until all streams of a device have nothing left to do.
void synchronize(int device);

/// Where the drawn order of the next work on `stream` starts: the same for a seed, whatever other
/// streams do.
std::uint64_t draw_of(cudaStream_t stream);

}  // namespace moelab::cuda_emulation
