#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace moe {

class Backend;
class Communicator;
struct DeviceShare;
struct GpuCluster;

/// The functions of the shared module libmoelab_cuda.so. CUDA's libraries take about a gigabyte of
/// address space, so the module alone is linked with them, and a program loads it when a device is
/// asked for. Each entry is the function of that name in backend.h or communicator.h.
struct CudaModule {
  const char* moelab_version;  ///< the version of the build that made the module
  std::unique_ptr<Backend> (*make_cuda_backend)(int device, double time_limit_s, DeviceShare share);
  int (*cuda_device_count)();
  std::vector<std::string> (*cuda_device_ids)();
  std::string (*cuda_device_name)(int device);
  std::int64_t (*cuda_free_bytes)(int device);
  std::string (*cuda_version)();
  bool (*has_nccl)();
  std::unique_ptr<Communicator> (*make_nccl_communicator)(Communicator& host, Backend& backend,
                                                          int device, double time_limit_s);
  std::unique_ptr<Communicator> (*make_gpu_cluster_communicator)(std::unique_ptr<Communicator> host,
                                                                 const GpuCluster& cluster,
                                                                 int device, double time_limit_s);
};

/// The name by which the module exports its CudaModule.
inline constexpr const char* kCudaModuleSymbol = "moelab_cuda_module";

/// Loads the module, once, from lib/moelab beside the program's folder, or from the file that the
/// variable MOELAB_CUDA_MODULE names. A module called libmoelab_cuda_emulated.so is software for
/// tests. Throws Unavailable where there is none, where it cannot be loaded or where it is of
/// another version.
const CudaModule& load_cuda_module();

/// Whether the CUDA devices are software for tests (tests/cuda_emulation). What is timed on them
/// says nothing about a GPU. Loads nothing.
bool cuda_is_emulated();

}  // namespace moe
