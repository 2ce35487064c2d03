// Sums and their norms on a device.
#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/residual_norm.h"

namespace moe {

bool CudaExec::residual_norm(const BoundOp& sum, const BoundOp& norm) {
  return execute_residual_norm(*this, sum, norm);
}

}  // namespace moe
