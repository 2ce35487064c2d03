#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/ranks.h"

namespace moe {

/// What a rank computes on.
struct DeviceWish {
  bool cuda = false;
  int threads = 0;              ///< of a rank on a processor; 0 = default_threads (cores.h)
  double time_limit_s = 60;     ///< of every wait for the device and for other ranks
  double copy_bytes_per_s = 0;  ///< of a processor, as make_cpu_backend; 0 = as fast as memory
};

/// A device and what is known of it. Destroyed in reverse: communicators end before their device.
struct OpenDevice {
  std::unique_ptr<Backend> backend;
  /// NCCL over the world, where every rank has a GPU of its own; none where buffers are in host
  /// memory or go through it (make_staged_communicator).
  std::unique_ptr<Communicator> nccl;
  /// Four fifths of the memory there is, divided among the ranks that share it: what is asked for
  /// beyond it would swap or be killed.
  std::int64_t memory_bytes = 0;
  std::vector<int> threads;  ///< by rank, that it computes with; empty on GPUs
};

/// Opens this rank's device; all ranks of `world` take part and decide alike. Throws Unavailable on
/// every rank where one of them lacks what is wished for.
OpenDevice open_device(Communicator& world, const std::vector<RankInfo>& ranks,
                       const DeviceWish& wish);

/// Which GPU each rank takes.
struct DeviceChoice {
  std::vector<int> device;   ///< by rank: position among those that it sees; -1 where it sees none
  std::vector<int> sharers;  ///< by rank: ranks on that GPU, itself included
  bool one_each = true;      ///< no GPU serves two ranks
};

/// `visible[rank]`: identities of the GPUs that the rank can use, by position. Ranks in order take
/// the GPU that serves fewest so far, the first of them: on a node of its own that is the rank
/// within the node modulo its GPUs, and nodes that share GPUs (a cluster in a box) share them out.
DeviceChoice choose_devices(const std::vector<std::vector<std::string>>& visible);

}  // namespace moe
