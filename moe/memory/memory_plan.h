#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/start_rule.h"
#include "moe/rows/binding.h"

namespace moe {

/// Offsets of all tensors, in one arena for each pool. Tensors that live over iterations come
/// first, then activations by lifetime.
///
/// Ops are visited wave by wave. The first wave is known before anything runs. Each layer whose
/// rows only its routing tells (a dropless one) begins a wave: the ops that start after its
/// exchange of counts has ended for certain, and before that of the next. So what is known early
/// and what is known late are placed in the order in which they run, and micro-batches one after
/// the other share memory. A wave's ops are visited in list order. An activation is placed when its
/// first op is visited, at the lowest free offset. Its memory is given out again only to an op that
/// starts after every user of it has ended (start_rule.h), so the plan never adds a wait and never
/// costs overlap. Tensors that lie in the memory of another (memory_owners.h) have its offset. Takes
/// n log n time for n ops (free_memory.h).
class MemoryPlan {
 public:
  MemoryPlan(const Program& program, const StartRule& rule);
  ~MemoryPlan();

  /// Visits the waves that no earlier call visited, up to the first whose layer `binding` lacks;
  /// returns their ops. Which calls visit them changes no offset.
  std::vector<int> advance(const Binding& binding);
  /// True once every op has been visited.
  bool is_complete() const;
  /// Forgets the activations, for the next iteration.
  void restart();

  /// False for an activation whose ops no call has visited.
  bool has_place(TensorId tensor) const;
  /// Throws std::logic_error for a tensor without a place.
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

/// The peak of a whole iteration under one binding. Throws std::invalid_argument where the routing
/// of a dropless layer is missing.
std::int64_t planned_peak_bytes(const Program& program, const Binding& binding,
                                Pool pool = Pool::device);

/// The peak of an iteration of `rank` in the device's memory; none where only routing tells it.
std::optional<std::int64_t> known_peak_bytes(const Program& whole, int rank);

/// The alignment of every tensor in the arena, in bytes.
inline constexpr std::int64_t kAlignment = 256;

}  // namespace moe
