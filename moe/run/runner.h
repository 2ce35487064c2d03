#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/kernels/initial_values.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// Bytes of another node's rank that an exchange of rows or experts has brought to this one.
struct Arrival {
  int op = 0;    ///< of the whole Program
  int from = 0;  ///< the rank that sent them
  std::int64_t bytes = 0;
  double at_s = 0;  ///< when the last of them was there, in seconds of this rank's steady_clock
};

/// One iteration as one rank measured it.
struct IterationResult {
  /// [op of this rank's stage], the start in seconds of its steady_clock; empty unless
  /// RunOptions::record_spans.
  std::vector<OpSpan> spans;
  double begin_s = 0;  ///< the time of steady_clock at which the iteration began
  double end_s = 0;
  Routing routing;           ///< rows that were sent, by every rank of the stage
  std::int64_t dropped = 0;  ///< copies over capacity, all ranks and layers of the stage
  /// [op of the whole Program]: bytes sent to other ranks as the communicator counted them; 0 for
  /// ops that compute.
  std::vector<std::int64_t> sent_bytes;
  /// Where spans are recorded and the communicators tell.
  std::vector<Arrival> arrivals{};
  std::int64_t planned_peak_bytes = 0;
  /// The peak of activations offloaded to the host's memory.
  std::int64_t planned_host_peak_bytes = 0;
  /// The highest byte of the arena that an op has written to, rounded up to the alignment of
  /// tensors. None unless measured.
  std::optional<std::int64_t> touched_peak_bytes;
  std::optional<std::int64_t> touched_host_peak_bytes;
};

struct RunOptions {
  std::int64_t memory_limit_bytes = 0;  ///< the largest arena; 0 = the memory of the device
  /// The least arena, within the limit: that of the largest Program to come, since an arena that
  /// grows takes room for two.
  std::int64_t least_arena_bytes = 0;
  /// The most bytes of activations in the host's memory; 0 = as many as are offloaded.
  std::int64_t host_memory_limit_bytes = 0;
  /// Asked once, when the communicators of the first Program exist, how large the arena may be.
  /// Where that is less than memory_limit_bytes it takes its place: on a device every communicator
  /// takes memory of its own.
  std::function<std::int64_t()> bytes_left{};
  double time_limit_s = 60;  ///< the limit of each wait
  /// Off, only the marks that others wait for are placed on a device, and few of them have times.
  bool record_spans = true;
  /// Waits after each op until it has ended, so that an error of a device names the op it is of.
  bool check_each_op = false;
  /// A communicator of devices over the same ranks, as NCCL; without it, messages between devices go
  /// through the host.
  Communicator* device_world = nullptr;
};

/// Called on the thread of an op's stream when the op has ended, before any op that waits for it
/// starts. An exception from it fails the iteration.
using AfterOp = std::function<void(const BoundOp&)>;

/// Called by the driving thread once every op that writes a loss has ended, in list order among the
/// ops of the host stream. No op of the update phase starts before it returns. Where it returns
/// false, this iteration does not update parameters. It may read() losses and communicate over
/// `world`.
using BeforeUpdate = std::function<bool()>;

/// Runs the Program of a rank's stage, iteration after iteration. A host thread per stream carries
/// out its ops in list order, as start_rule.h allows. The calling thread drives the host stream and
/// the memory plan.
class Runner {
 public:
  /// `world` must outlive the runner; communicators for groups and streams are made from it
  /// (collective). Throws OutOfMemory where the plan of a Program with a capacity exceeds the
  /// limit, before anything runs.
  Runner(Program program, Groups groups, Backend& backend, Communicator& world, RunOptions options);
  ~Runner();

  /// The Program of this rank's stage (stage_program.h), whose tensors write() and read() take, and
  /// the Program of all stages.
  const Program& program() const;
  const Program& whole() const;
  /// The place in whole() of an op of program().
  int whole_op(int op) const;
  /// This rank among all ranks of the job.
  int rank() const;
  /// Replaces the Program by one with the same tensors and parameters but other ops. Parameters
  /// keep their values, and states of the optimizer where both Programs have them in one shape.
  void reschedule(Program program);
  /// Sets the function for the iterations to come.
  void set_before_update(BeforeUpdate before_update);

  /// Runs one iteration. `measure_memory` fills the arena with a pattern before and looks
  /// afterwards how far it was overwritten, which takes time. Throws the exception of the first op
  /// that fails; the runner cannot be used after that.
  IterationResult iterate(bool measure_memory = false);
  /// Runs one iteration and calls `after_op` for every op as it ends.
  IterationResult iterate_observed(const AfterOp& after_op);

  /// Copies a whole tensor in or out; fixed rows only, while no iteration runs (BeforeUpdate).
  void write(TensorId tensor, std::span<const std::byte> data);
  void read(TensorId tensor, std::span<std::byte> data) const;
  /// The same of some bytes of it, from `begin` on.
  void write_at(TensorId tensor, std::int64_t begin, std::span<const std::byte> data);
  void read_at(TensorId tensor, std::int64_t begin, std::span<std::byte> data) const;
  /// Gives a whole tensor its initial values, on the device; fixed rows only, as above.
  void fill(TensorId tensor, const InitialValues& values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moe
