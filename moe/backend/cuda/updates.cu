// The optimizers on a device: one launch updates many parameters.
#include <span>

#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/updates.h"

namespace moe {

void CudaExec::updates(std::span<const BoundOp* const> ops) { execute_updates(*this, ops); }

}  // namespace moe
