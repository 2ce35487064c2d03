#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace moelab::cuda_emulation {

/// Enqueues `work`, which runs on the stream's thread after all that was enqueued before it. An
/// exception of `work` becomes the error of the stream's device, which stays: all later calls
/// return it. `name` stands in its text.
void enqueue(cudaStream_t stream, std::string name, std::function<void()> work);

/// Throws std::invalid_argument, whose text begins with `who`, unless all `bytes` from `pointer` on
/// are one allocation of device or pinned memory. No bytes may be anywhere.
void check_device_pointer(const void* pointer, std::size_t bytes, const char* who);

/// The seed of this process's orders: MOELAB_EMULATED_SEED, or 0. Seed 0 takes blocks, threads and
/// streams greedily from first to last, 1 from last to first; others draw.
std::uint64_t seed();

}  // namespace moelab::cuda_emulation
