#pragma once

#include <string>
#include <vector>

#include "db/console/in_process.h"

namespace moe {

/// A cluster in one GPU: its ranks are threads of one process, each with streams of its own, and
/// links between them are paced. A transfer is a copy on the device; what asked for it goes on only
/// when the link would have carried the last byte.
struct GpuCluster {
  static constexpr int kMostRanks = db::options::InProcess::kMostRanks;

  std::vector<int> node_of;  ///< [rank]: the node that it would run on
  /// The rate of the network card of each node, in each direction; 0: as fast as the device copies.
  double nic_bytes_per_s = 0;
  /// The rate of the link that each rank has to the others of its node, likewise.
  double intra_bytes_per_s = 0;
  /// Blocks of the kernel that copies, which takes multiprocessors from others as NCCL's kernels
  /// do; 0: the device copies by itself.
  int copy_blocks = 0;
};

/// As the command line says.
GpuCluster gpu_cluster_of(const db::options::InProcess& in_process);
/// What the node of a rank is called, "one-gpu-node0", so that what is measured there says so; ""
/// where ranks are processes.
std::string node_in_gpu(const db::options::InProcess& in_process, int rank);

}  // namespace moe
