#include "moe/communicator/gpu_cluster.h"

namespace moe {

GpuCluster gpu_cluster_of(const db::options::InProcess& in_process) {
  constexpr double kBytesOfGbit = 1e9 / 8;
  GpuCluster cluster;
  for (int rank = 0; rank < in_process.ranks; ++rank) {
    cluster.node_of.push_back(rank / in_process.ranks_per_node);
  }
  cluster.nic_bytes_per_s = in_process.nic_gbps * kBytesOfGbit;
  cluster.intra_bytes_per_s = in_process.intra_gbps * kBytesOfGbit;
  cluster.copy_blocks = in_process.copy_blocks;
  return cluster;
}

std::string node_in_gpu(const db::options::InProcess& in_process, int rank) {
  if (!in_process) return "";
  return "one-gpu-node" + std::to_string(rank / in_process.ranks_per_node);
}

}  // namespace moe
