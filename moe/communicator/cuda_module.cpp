#include "moe/backend/cuda_module.h"

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moelab_revision.h"

/// The one symbol that libmoelab_cuda.so exports. In the module these names are the functions of
/// backend/cuda.cu and communicator/nccl.cpp; in a program they load it.
extern "C" __attribute__((visibility("default"))) const moe::CudaModule moelab_cuda_module{
    .moelab_version = moelab::version.data(),
    .make_cuda_backend = moe::make_cuda_backend,
    .cuda_device_count = moe::cuda_device_count,
    .cuda_device_ids = moe::cuda_device_ids,
    .cuda_device_name = moe::cuda_device_name,
    .cuda_free_bytes = moe::cuda_free_bytes,
    .cuda_version = moe::cuda_version,
    .has_nccl = moe::has_nccl,
    .make_nccl_communicator = moe::make_nccl_communicator,
    .make_gpu_cluster_communicator = moe::make_gpu_cluster_communicator,
};
