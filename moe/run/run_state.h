#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "moe/kernels/bound_op.h"
#include "moe/memory/memory_plan.h"
#include "moe/program/start_rule.h"
#include "moe/rows/binding.h"
#include "moe/run/host_blocks.h"
#include "moe/run/progress.h"
#include "moe/run/runner.h"
#include "moe/run/touched_memory.h"

/// The state that the parts of a runner share: prepare, collectives, host_ops, stream_thread.
namespace moe {

/// An op whose addresses, rows and messages are known.
struct PreparedOp {
  BoundOp bound;
  /// The segments that it exchanges, of routed rows or of experts.
  std::vector<Segment> send, receive;
  std::vector<collective::Chain> chains;  ///< of experts that travel on rings, instead
  std::vector<Arrival> arrivals;          ///< what came, once it has run; `op` is not set
};

using GroupOnStream = std::pair<GroupKind, Stream>;

struct RunState {
  Groups groups;
  Backend& backend;
  Communicator& world;
  RunOptions options;
  std::map<GroupOnStream, std::unique_ptr<Communicator>> communicators;
  std::byte* arena = nullptr;
  std::int64_t arena_bytes = 0;  ///< the bytes of tensors; TouchedMemory::kGuardBytes follow them
  /// Of offloaded activations, likewise with a guard each. A tensor lies in the first that holds
  /// all of its place.
  std::vector<HostBlock> host_blocks;

  // Of the Program:
  Program whole;           ///< the Program of all stages
  Program program;         ///< the Program of this rank's stage
  std::vector<int> op_of;  ///< [op of `program`]: its place in `whole`
  StartRule rule;
  std::vector<std::vector<int>> waits_for;  ///< [op]: the ops of the start rule on other streams
  std::vector<std::vector<int>> issued_before;  ///< [op]: the ops that must be issued before it
  std::vector<int> loss_ops;                    ///< the ops that write a loss, ascending
  std::vector<bool> is_waited_for;              ///< [op]: by the host or by another stream
  /// [op]: how many ops of the list, from it on, are issued together: updates of parameters, or a
  /// sum and the norm of it. On other streams the later ones wait for nothing more than the first,
  /// and nothing waits for any but the last.
  std::vector<int> issued_together;
  std::map<int, RowHandling> row_handling;  ///< by MoE layer
  Binding padded;                           ///< of the layers whose rows are padded
  std::optional<MemoryPlan> plan;

  // Of the iteration. The driving thread writes an op's entries; its stream's thread reads them
  // once the op is prepared.
  Binding binding;
  /// Ops whose tensors have places in the arena but whose rows are not known, by the layer that
  /// they wait for.
  std::map<RoutedLayer, std::vector<int>> placed;
  std::vector<PreparedOp> prepared;  ///< [op]
  /// [op], for device streams. Without spans only ops that are waited for have an end mark.
  std::vector<Mark> begin_marks, end_marks;
  std::vector<std::pair<double, double>> host_times;  ///< [op], for the host stream
  std::optional<TouchedMemory> touched;
  std::vector<TouchedMemory> touched_host;  ///< [block of the host's memory], where it is measured
  AfterOp after_op;
  BeforeUpdate before_update;
  bool passes_over_updates = false;  ///< read by streams' threads once decision() has ended
  IterationResult result;
  Progress progress;

  RunState(Groups groups, Backend& backend, Communicator& world, RunOptions options)
      : groups(std::move(groups)), backend(backend), world(world), options(options) {}

  const Op& op(int index) const { return program.ops[index]; }
  /// The number that Progress has, after those of the ops, for the decision whether this iteration
  /// updates.
  int decision() const { return static_cast<int>(program.ops.size()); }
  PreparedOp& prepared_op(int index) { return prepared[index]; }
};

/// "all_to_all dispatch (layer 3, chunk 1/2)"
std::string describe(const Op& op);

CallContext call_context(const RunState& state, const Op& op);

/// The time of steady_clock in seconds.
double now_s();

}  // namespace moe
