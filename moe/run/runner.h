#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/program/binding.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/run/memory_plan.h"

namespace moe {

/// What one rank saw of one iteration.
struct IterationResult {
  std::vector<OpSpan>
      spans;  ///< by op, start in seconds of this rank's steady_clock; empty where not asked for
  double begin_s = 0;  ///< steady_clock
  double end_s = 0;
  Routing routing;           ///< rows that really travelled, from every rank of the world
  std::int64_t dropped = 0;  ///< copies over capacity, all ranks and layers
  std::int64_t planned_peak_bytes = 0;
  std::int64_t measured_peak_bytes = 0;  ///< highest arena byte that any op was handed
};

struct RunOptions {
  std::int64_t memory_limit_bytes = 0;  ///< of the arena; 0 = what the device has
  double time_limit_s = 60;             ///< of each wait
  bool record_spans = true;
  Communicator* device_world =
      nullptr;  ///< NCCL over the same ranks; without it device buffers go through the host
};

/// Executes one Program again and again on one rank: a host thread per stream walks its ops in list
/// order, waits for dependencies on other streams, and issues. The calling thread drives the host
/// stream and the memory plan.
class Runner {
 public:
  /// `world` outlives the runner; group and stream communicators are split off it (collective).
  /// Throws OutOfMemory when the plan of a capacity-bound Program exceeds the limit, before
  /// anything runs.
  Runner(Program program, Groups groups, Backend& backend, Communicator& world, RunOptions options);
  ~Runner();

  const Program& program() const;
  /// Replaces the Program (same tensors and parameters, other ops); parameters keep their values.
  void reschedule(Program program);

  /// One iteration. Throws what the first failing op threw; the runner cannot be used after that.
  IterationResult iterate();

  /// Copies a whole tensor in or out; fixed rows only, while no iteration runs.
  void write(TensorId tensor, std::span<const std::byte> data);
  void read(TensorId tensor, std::span<std::byte> data) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moe
