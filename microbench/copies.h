#pragma once

#include <cstdint>
#include <vector>

#include "microbench/benchmarks.h"

namespace microbench {

/// Memory of one rank, on one thread, all ranks at the same time: `host_copy` (memcpy; busbw counts
/// read and write), `host_read`, `host_write`. With a device also `host_to_device` and
/// `device_to_host`, the copies of rows that training fetches and offloads, from and to pinned
/// memory, and `device_add`, the sum of two arrays of the device (busbw counts all three).
std::vector<Plan> copy_plans(const Bench& bench, const std::vector<std::int64_t>& sizes);

/// A copy from the arena to host memory, as training offloads activations: memcpy on a CPU,
/// device_to_host elsewhere. Its buffers end in the arena at arena_end(bench, {bytes}). On a device
/// it also takes the one block of the host's memory: one such case lives at a time.
Case offload_case(const Bench& bench, std::int64_t bytes);

/// The benchmark "copies".
Benchmark copy_benchmark();

}  // namespace microbench
