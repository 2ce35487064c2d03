#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/ranks.h"

namespace moe {

/// The device that a rank asks for.
struct DeviceWish {
  bool cuda = false;
  int threads = 0;           ///< computing threads of a processor; 0 = default_threads (cores.h)
  double time_limit_s = 60;  ///< how long each wait for the device or other ranks may last
  /// The rate of copies on a processor, as in make_cpu_backend; 0 = as fast as memory.
  double copy_bytes_per_s = 0;
  /// Ranks are threads of one process and share its first GPU; of a GPU alone.
  std::optional<GpuCluster> cluster{};
};

/// A device. Members are destroyed in reverse, so communicators end before their device.
struct OpenDevice {
  std::unique_ptr<Backend> backend;
  /// Over the world: NCCL where every rank has a GPU of its own, copies in one GPU where ranks are
  /// threads; none where buffers are in host memory or go through it (make_staged_communicator).
  std::unique_ptr<Communicator> world;
  /// Four fifths of the memory, divided among the ranks that share it. A process that took more
  /// would swap or be killed.
  std::int64_t memory_bytes = 0;
  /// What the same would be now, where NCCL takes memory for every group of ranks; none elsewhere.
  std::function<std::int64_t()> bytes_left;
  std::vector<int> threads;  ///< computing threads by rank; empty on GPUs
};

/// Opens this rank's device. All ranks of `world` take part and decide alike: where one of them
/// lacks the device, every rank throws Unavailable.
OpenDevice open_device(Communicator& world, const std::vector<RankInfo>& ranks,
                       const DeviceWish& wish);

/// Says which ranks compute with other numbers of threads than rank 0: the slowest decide how long
/// an iteration takes. "" where all have the same.
std::string remark_on_threads(const OpenDevice& device, const std::vector<RankInfo>& ranks);

/// The GPU of each rank.
struct DeviceChoice {
  std::vector<int> device;   ///< by rank: its index among the GPUs that the rank sees, or -1
  std::vector<int> sharers;  ///< by rank: how many ranks its GPU serves
  bool one_each = true;      ///< whether no GPU serves two ranks
};

/// `visible[rank]`: identities of the GPUs that the rank can use, by index. One rank after the
/// other takes the GPU that serves the fewest so far, and the first of several. So on a node of its
/// own a rank takes the GPU rank % GPUs, and nodes that share GPUs (a cluster in a box) share them
/// evenly.
DeviceChoice choose_devices(const std::vector<std::vector<std::string>>& visible);

}  // namespace moe
