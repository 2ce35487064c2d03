#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// What one rank saw of one iteration.
struct IterationResult {
  /// By op of this rank's stage, start in seconds of its steady_clock; empty where not asked for.
  std::vector<OpSpan> spans;
  double begin_s = 0;  ///< steady_clock
  double end_s = 0;
  Routing routing;           ///< rows that really travelled, from every rank of the stage
  std::int64_t dropped = 0;  ///< copies over capacity, all ranks and layers of the stage
  /// By op of the whole Program: bytes handed to other ranks as the communicator counted them; 0 for what computes.
  std::vector<std::int64_t> sent_bytes;
  std::int64_t planned_peak_bytes = 0;
  std::int64_t planned_host_peak_bytes = 0;  ///< of what is offloaded to the host's memory
  /// Highest arena byte that an op has written to, rounded up to the alignment of tensors. Only
  /// where it was asked for.
  std::optional<std::int64_t> touched_peak_bytes;
  std::optional<std::int64_t> touched_host_peak_bytes;
};

struct RunOptions {
  std::int64_t memory_limit_bytes = 0;  ///< of the arena; 0 = what the device has
  /// Of the host's, where only routing tells how much is offloaded; 0 = as much as the device's.
  std::int64_t host_memory_limit_bytes = 0;
  double time_limit_s = 60;  ///< of each wait
  bool record_spans = true;
  /// NCCL over the same ranks; without it device buffers go through the host.
  Communicator* device_world = nullptr;
};

/// Called on the thread of an op's stream once the op has ended, before anything waits for it; what
/// it throws fails the iteration.
using AfterOp = std::function<void(const BoundOp&)>;

/// Called by the driving thread once every op that writes a loss has ended, in list order among the
/// host stream's ops; no op of the update starts before it returns. False: the updates of this
/// iteration are passed over. May read() losses, and communicate over `world`.
using BeforeUpdate = std::function<bool()>;

/// Executes its stage's part of one Program again and again on one rank: a host thread per stream takes its ops in list
/// order as start_rule.h lets it. The calling thread drives the host stream and the memory plan.
class Runner {
 public:
  /// `world` outlives the runner; group and stream communicators are split off it (collective).
  /// Throws OutOfMemory when the plan of a capacity-bound Program exceeds the limit, before
  /// anything runs.
  Runner(Program program, Groups groups, Backend& backend, Communicator& world, RunOptions options);
  ~Runner();

  /// What this rank carries out: the Program of its stage (stage_program.h), whose tensors write() and read()
  /// take, and that of all stages.
  const Program& program() const;
  const Program& whole() const;
  /// The place in whole() of an op of program().
  int whole_op(int op) const;
  /// Replaces the Program (same tensors and parameters, other ops); parameters keep their values.
  void reschedule(Program program);
  /// For the iterations to come.
  void set_before_update(BeforeUpdate before_update);

  /// One iteration. `measure_memory` fills the arena with a pattern beforehand and looks afterwards
  /// how far it was overwritten, which takes time. Throws what the first failing op threw; the
  /// runner cannot be used after that.
  IterationResult iterate(bool measure_memory = false);
  /// The same with every op looked at as it ends.
  IterationResult iterate_observed(const AfterOp& after_op);

  /// Copies a whole tensor in or out; fixed rows only, while no iteration runs (BeforeUpdate).
  void write(TensorId tensor, std::span<const std::byte> data);
  void read(TensorId tensor, std::span<std::byte> data) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moe
