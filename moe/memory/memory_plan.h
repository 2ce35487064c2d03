#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/start_rule.h"
#include "moe/rows/binding.h"

namespace moe {

/// Offsets of all tensors, in one arena for each pool. Tensors that live over iterations come
/// first, then activations by lifetime.
///
/// Ops are visited in list order. An op with tensors of unknown size (rows of a dropless layer
/// before its routing) is left out and visited once the sizes are known. An activation is placed
/// when its first op is visited, at the lowest free offset. Its memory is given out again only to
/// an op that starts after every user of it has ended (start_rule.h), so the plan never adds a wait
/// and never costs overlap. Takes n log n time for n ops (free_memory.h).
class MemoryPlan {
 public:
  MemoryPlan(const Program& program, const StartRule& rule);
  ~MemoryPlan();

  /// Visits the ops whose sizes `binding` tells and that no earlier call visited; returns them,
  /// ascending. Layers must become known in the order of routed_layers(): layers after the first
  /// that `binding` lacks are not looked for.
  std::vector<int> advance(const Binding& binding);
  /// Visits all ops as they are when the layers of `binding` become known one after the other.
  void advance_layer_by_layer(const Binding& binding);
  /// True once every op has been visited.
  bool is_complete() const;
  /// Forgets the activations, for the next iteration.
  void restart();

  std::int64_t offset(TensorId tensor) const;
  /// The first byte after the tensor and its padding.
  std::int64_t end(TensorId tensor) const;
  /// Where activations begin in the device's arena.
  std::int64_t activations_begin() const;
  /// The highest byte given out since the last restart, including tensors that live over
  /// iterations.
  std::int64_t peak_bytes(Pool pool = Pool::device) const;
  /// The op whose tensors first reached that byte; -1 where no activation did.
  int peak_op(Pool pool = Pool::device) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The peak of a whole iteration under one binding. Layers become known in the order in which they
/// do when it runs. Throws std::invalid_argument where the routing of a dropless layer is missing.
std::int64_t planned_peak_bytes(const Program& program, const Binding& binding,
                                Pool pool = Pool::device);

/// The alignment of every tensor in the arena, in bytes.
inline constexpr std::int64_t kAlignment = 256;

}  // namespace moe
