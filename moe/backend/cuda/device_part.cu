#include <cuda.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "moe/backend/cuda/device_part.cuh"
#include "moe/backend/cuda_check.cuh"
#include "moe/backend/cuda_driver.cuh"

namespace moe {
namespace {

template <class Function>
Function* function_of(Function*, const char* name) {
  return reinterpret_cast<Function*>(driver_function(name));
}

/// The calls of the driver; one that is missing is nullptr.
struct Driver {
  decltype(&cuDeviceGetDevResource) resource_of =
      function_of(decltype(&cuDeviceGetDevResource){}, "cuDeviceGetDevResource");
  decltype(&cuDevSmResourceSplitByCount) split =
      function_of(decltype(&cuDevSmResourceSplitByCount){}, "cuDevSmResourceSplitByCount");
  decltype(&cuDevResourceGenerateDesc) describe =
      function_of(decltype(&cuDevResourceGenerateDesc){}, "cuDevResourceGenerateDesc");
  decltype(&cuGreenCtxCreate) create =
      function_of(decltype(&cuGreenCtxCreate){}, "cuGreenCtxCreate");
  decltype(&cuGreenCtxDestroy) destroy =
      function_of(decltype(&cuGreenCtxDestroy){}, "cuGreenCtxDestroy");
  decltype(&cuGreenCtxStreamCreate) make_stream =
      function_of(decltype(&cuGreenCtxStreamCreate){}, "cuGreenCtxStreamCreate");

  bool is_whole() const {
    return resource_of != nullptr && split != nullptr && describe != nullptr && create != nullptr &&
           destroy != nullptr && make_stream != nullptr;
  }
};

const Driver& driver() {
  static const Driver one;
  return one;
}

/// Equal parts of a device, split once, so that the ranks of a process get different ones; none
/// where the driver does not split it so.
const std::vector<CUdevResource>& parts_of(int device, int parts) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, std::vector<CUdevResource>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace({device, parts});
  if (!is_new || !driver().is_whole()) return found->second;
  CUdevResource all{};
  if (driver().resource_of(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) {
    return found->second;
  }
  // Parts are rounded up to what the device divides into, and there may then be too few.
  const unsigned step = all.sm.smCoscheduledAlignment > 0 ? all.sm.smCoscheduledAlignment : 1;
  const unsigned each = all.sm.smCount / static_cast<unsigned>(parts) / step * step;
  std::vector<CUdevResource> split(static_cast<std::size_t>(parts));
  auto count = static_cast<unsigned>(parts);
  if (each > 0 && driver().split(split.data(), &count, &all, nullptr, 0, each) == CUDA_SUCCESS &&
      count == static_cast<unsigned>(parts)) {
    found->second = std::move(split);
  }
  return found->second;
}

}  // namespace

DevicePart::DevicePart(int device, DeviceShare share) {
  if (share.of <= 1) return;
  check(cudaFree(nullptr), "cudaFree");  // makes the context that the parts are of
  const std::vector<CUdevResource>& parts = parts_of(device, share.of);
  if (parts.empty()) return;
  CUdevResource part = parts[static_cast<std::size_t>(share.index)];
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  if (driver().describe(&description, &part, 1) != CUDA_SUCCESS ||
      driver().create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS) {
    return;
  }
  context_ = context;
  multiprocessors_ = static_cast<int>(part.sm.smCount);
}

DevicePart::~DevicePart() {
  if (context_ != nullptr) driver().destroy(static_cast<CUgreenCtx>(context_));
}

cudaStream_t DevicePart::make_stream(int priority) const {
  if (context_ == nullptr) return nullptr;
  CUstream stream = nullptr;
  const CUresult result = driver().make_stream(&stream, static_cast<CUgreenCtx>(context_),
                                               CU_STREAM_NON_BLOCKING, priority);
  if (result == CUDA_SUCCESS) return stream;
  throw CudaError("cuGreenCtxStreamCreate: the driver answers " + std::to_string(result));
}

}  // namespace moe
