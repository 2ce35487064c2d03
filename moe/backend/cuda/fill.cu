// Initial values on a device.
#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/fill.h"

namespace moe {

void CudaExec::fill(const View& tensor, const InitialValues& values) {
  fill_any(*this, tensor, values);
}

}  // namespace moe
