#pragma once

namespace moelab::cuda_emulation::nccl {

/// Seconds after which a kernel gives up its peers: MOELAB_EMULATED_NCCL_LIMIT_S, else 60.
double nccl_limit_s();

/// Whether MOELAB_EMULATED_NCCL_NEVER_READY names this rank of the first communicator: it then
/// never comes to its peers, and ncclCommGetAsyncError says ncclInProgress for ever.
bool never_ready(int rank);

/// Kills this process where MOELAB_EMULATED_NCCL_DIES is "RANK:KERNEL". `rank` is that in the first
/// communicator of the device, `kernel` counts the kernels of NCCL that began there, from 1.
void die_if_told(int rank, long kernel);

}  // namespace moelab::cuda_emulation::nccl
