#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/start_rule.h"
#include "moe/rows/binding.h"

namespace moe {

/// Offsets of all tensors in one arena for each pool: what lives over iterations first, then activations by
/// lifetime.
///
/// Ops are visited in list order; one whose tensors' sizes are not known yet (rows of a dropless
/// layer before its routing) is left out and visited once they are. An activation is placed when its
/// first op is visited, lowest offset first, and its memory is given out again only to an op that is
/// ordered after every user of it (start_rule.h), so that the plan never adds a wait and never costs
/// overlap. Takes n log n for n ops (free_memory.h).
class MemoryPlan {
 public:
  MemoryPlan(const Program& program, const StartRule& rule);
  ~MemoryPlan();

  /// Visits the ops whose sizes `binding` tells, those of earlier calls left out; returns them,
  /// ascending. Layers become known in the order of routed_layers(): none is looked for behind the first that
  /// `binding` lacks.
  std::vector<int> advance(const Binding& binding);
  /// True once every op has been visited.
  bool is_complete() const;
  /// Forgets the activations, for the next iteration.
  void restart();

  std::int64_t offset(TensorId tensor) const;
  /// First byte behind the tensor, padding included.
  std::int64_t end(TensorId tensor) const;
  /// Where activations begin in the device's arena.
  std::int64_t activations_begin() const;
  /// Highest byte given out since the last restart, persistent included.
  std::int64_t peak_bytes(Pool pool = Pool::device) const;
  /// The op whose tensors first reached that byte; -1 where persistent memory is all.
  int peak_op(Pool pool = Pool::device) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Peak of the whole iteration under one binding, layers becoming known in the order in which they
/// do when it runs. Throws std::invalid_argument where the routing of a dropless layer is missing.
std::int64_t planned_peak_bytes(const Program& program, const Binding& binding,
                                Pool pool = Pool::device);

/// Alignment of every tensor in the arena.
inline constexpr std::int64_t kAlignment = 256;

}  // namespace moe
