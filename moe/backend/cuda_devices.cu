// The CUDA devices of this computer, without kernels, for programs that only name them.
#include <cstddef>
#include <string_view>

#include "moe/backend/backend.h"
#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/backend/cuda_check.cuh"

namespace moe {

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // forgets the error: the driver may not be there at all
  return 0;
}

std::vector<std::string> cuda_device_ids() {
  std::vector<std::string> ids(cuda_device_count());
  for (std::size_t device = 0; device < ids.size(); ++device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, static_cast<int>(device)),
          "cudaGetDeviceProperties");
    ids[device] = "GPU-";
    for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
      if (i == 4 || i == 6 || i == 8 || i == 10) ids[device] += '-';
      ids[device] += {digits[byte / 16], digits[byte % 16]};
    }
  }
  return ids;
}

std::string cuda_device_name(int device) {
  cudaDeviceProp properties{};
  if (device < 0 || device >= cuda_device_count()) return "";
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.name;
}

std::int64_t cuda_free_bytes(int device) {
  if (device < 0 || device >= cuda_device_count()) return 0;
  check(cudaSetDevice(device), "cudaSetDevice");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

std::string cuda_version() {
  if (cuda_device_count() == 0) return "";
  int runtime = 0, driver = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const auto text = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  const std::string attention = fused_library_name();
  return "runtime " + text(runtime) + ", driver " + text(driver) +
         (attention.empty() ? "" : ", " + attention);
}

}  // namespace moe
