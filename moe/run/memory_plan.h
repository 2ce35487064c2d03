#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "moe/program/binding.h"
#include "moe/program/program.h"

namespace moe {

/// Offsets of all tensors in one arena: what lives over iterations first, then activations by
/// lifetime.
///
/// Ops are visited in list order. An activation is placed at its first write, lowest offset first,
/// and its memory is given out again only to an op that is ordered after every user of it by
/// dependencies and stream order, so that the plan never adds a wait and never costs overlap. The
/// plan needs only what is known when an op is issued: with dropless layers it stops at the first
/// tensor whose rows are not bound and goes on once they are.
class MemoryPlan {
 public:
  explicit MemoryPlan(const Program& program);
  MemoryPlan(MemoryPlan&&) noexcept;
  MemoryPlan& operator=(MemoryPlan&&) noexcept;
  ~MemoryPlan();

  /// Places tensors as far as `binding` allows; returns the number of leading ops whose tensors all
  /// have a place.
  int advance(const Binding& binding);
  /// Forgets the activations, for the next iteration.
  void restart();

  std::int64_t offset(TensorId tensor) const;
  /// First byte behind the tensor, padding included.
  std::int64_t end(TensorId tensor) const;
  std::int64_t persistent_bytes() const;
  /// Highest byte given out since the last restart, persistent included.
  std::int64_t peak_bytes() const;
  /// The op whose tensors first reached that byte; -1 where persistent memory is all.
  int peak_op() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Peak of the whole iteration under one binding.
std::int64_t planned_peak_bytes(const Program& program, const Binding& binding);

/// Alignment of every tensor in the arena.
inline constexpr std::int64_t kAlignment = 256;

}  // namespace moe
