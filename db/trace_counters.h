#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/trace_tracks.h"

namespace db {

/// What a rank's communications were at a moment, until the next sample.
struct CounterSample {
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;  ///< of the communications that run
  bool exposed = false;    ///< whether one runs while nothing is computed
  bool operator==(const CounterSample&) const = default;
};

/// The samples of one rank, at each moment at which one of them changes, ascending.
std::vector<CounterSample> counter_samples(std::span<const TrackSpan> spans);

/// The memory that tensors of a rank occupy from a moment on, until the next sample of the pool.
struct MemorySample {
  int rank = 0;
  std::string pool;  ///< "device" | "host"
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;
};

/// Of a timeline whose memory is stored: by rank, pool and time, as memory_view has it.
std::vector<MemorySample> memory_samples(const Connection& connection, std::int64_t timeline_id);

}  // namespace db
