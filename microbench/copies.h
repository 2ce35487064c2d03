#pragma once

#include <cstdint>
#include <vector>

#include "microbench/benchmarks.h"

namespace microbench {

/// Memory of one rank, on one thread, all ranks at the same time: `host_copy` (memcpy; busbw counts
/// read and write), `host_read`, `host_write`, and with a device `host_to_device` and
/// `device_to_host` as training copies: Backend::upload and download.
std::vector<Plan> copy_plans(const Bench& bench, const std::vector<std::int64_t>& sizes);

/// "copies".
Benchmark copy_benchmark();

}  // namespace microbench
