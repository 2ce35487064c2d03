#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/rows/element_share.h"
#include "moe/rows/groups.h"
#include "moe/run/runner.h"

namespace moe {

/// True where the tensor is a state of which a rank has its share (Parameter::shares_state).
bool is_shared_state(const Program& program, const Parameter& parameter, TensorId tensor);

/// The elements of the whole state that `rank` has in the tensor.
ElementRange held_elements(const Program& program, const Parameter& parameter, TensorId tensor,
                           int rank);

/// Of these elements of the tensor of a parameter, those that are not in empty blocks: its last ones
/// may be.
ElementRange without_empty_blocks(const Program& program, const Parameter& parameter,
                                  ElementRange held);

/// Reads and writes tensors of parameters as a rank has them without shard_optimizer, between two
/// iterations.
class SharedStates {
 public:
  /// Collective over `world`.
  SharedStates(const Groups& groups, Communicator& world, double time_limit_s);

  /// All of the tensor. Where it is a share, the ranks of Parameter::replicas gather it: each of
  /// them calls this.
  std::vector<std::byte> read(const Runner& runner, const Parameter& parameter,
                              TensorId tensor) const;
  /// Writes what this rank has of the tensor, out of all of it.
  static void write(Runner& runner, const Parameter& parameter, TensorId tensor,
                    std::span<const std::byte> whole);

 private:
  double time_limit_s_;
  std::map<GroupKind, std::unique_ptr<Communicator>> groups_;  ///< those of several ranks
};

}  // namespace moe
