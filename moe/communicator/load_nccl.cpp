#include <utility>

#include "moe/backend/cuda_module.h"
#include "moe/communicator/communicator.h"
#include "moe/errors.h"

namespace moe {

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& backend,
                                                     int device, double time_limit_s) {
  return load_cuda_module().make_nccl_communicator(host, backend, device, time_limit_s);
}

std::unique_ptr<Communicator> make_gpu_cluster_communicator(std::unique_ptr<Communicator> host,
                                                            const GpuCluster& cluster, int device,
                                                            double time_limit_s) {
  return load_cuda_module().make_gpu_cluster_communicator(std::move(host), cluster, device,
                                                          time_limit_s);
}

bool has_nccl() {
  try {
    return load_cuda_module().has_nccl();
  } catch (const Unavailable&) {
    return false;
  }
}

}  // namespace moe
