#pragma once

#include "tests/cuda_emulation/nccl/call.h"
#include "tests/cuda_emulation/nccl/communicator.h"

namespace moelab::cuda_emulation::nccl {

/// Puts a kernel on its stream. There it waits for the earlier kernels of its communicator, and
/// where NCCL_LAUNCH_ORDER_IMPLICIT is 1 until all kernels of its device launched before it have
/// begun; then for its peers. All but the last kind of wait end where the communicator is aborted.
/// A kernel whose peers come with other calls, wait for each other, or do not come fails its
/// communicator. It then stays on the device until the communicator is aborted, as NCCL's do.
void launch(ncclComm& comm, NcclKernel kernel);

}  // namespace moelab::cuda_emulation::nccl
