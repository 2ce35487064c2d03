#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/rows/groups.h"
#include "moe/run/runner.h"
#include "moe/train/checkpoint/safetensors.h"
#include "moe/train/shared_states.h"

namespace moe {

/// The copies of tensors that one rank writes into a checkpoint.
struct Collected {
  std::vector<StoredTensor> tensors;            ///< whole matrices, whose bytes are in `storage`
  std::vector<std::vector<std::byte>> storage;  ///< [tensor]
};

/// Copies the parameters and optimizer states of all ranks, so that every matrix of the model is
/// whole on one rank. Ranks that hold copies take turns; ranks that share a matrix gather it, as do
/// those that share out the states of the optimizer.
class Collector {
 public:
  /// Collective over `world`.
  Collector(const Groups& groups, Communicator& world, double time_limit_s);

  /// Between two iterations. Collective.
  Collected collect(const Runner& runner) const;

 private:
  Groups groups_;
  int rank_;
  double time_limit_s_;
  std::unique_ptr<Communicator> tensor_, expert_sharded_;  ///< null where a rank is alone
  SharedStates states_;
};

}  // namespace moe
