#include "tests/cuda_emulation/device.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>

#include "tests/cuda_emulation/settings.h"

namespace moelab::cuda_emulation {
namespace {

/// The error of a device that stays. The text is written before the code, and once.
struct DeviceError {
  std::mutex mutex;
  std::string text;
  std::atomic<cudaError_t> code = cudaSuccess;
};

DeviceError& device_error(int device) {
  static auto& errors = *new std::array<DeviceError, 64>();  // outlives the threads of streams
  return errors.at(static_cast<std::size_t>(device));
}

thread_local int chosen_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
/// The text of a refusal, and the code that it explains.
thread_local std::string refused_text;
thread_local cudaError_t refused_code = cudaSuccess;

struct ErrorName {
  cudaError_t code;
  const char* name;
  const char* text;
};
constexpr ErrorName error_names[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};

const ErrorName& names_of(cudaError_t code) {
  static constexpr ErrorName unknown{cudaSuccess, "unrecognized error code",
                                     "unrecognized error code"};
  for (const ErrorName& known : error_names) {
    if (known.code == code) return known;
  }
  return unknown;
}

}  // namespace

int current_device() { return chosen_device; }

void break_device(int device, cudaError_t code, const std::string& why) {
  DeviceError& error = device_error(device);
  const std::lock_guard lock(error.mutex);
  if (error.code.load() != cudaSuccess) return;
  error.text = std::string(names_of(code).text) + ": " + why;
  error.code.store(code);
}

cudaError_t error_of(int device) { return device_error(device).code.load(); }

cudaError_t keep(cudaError_t code) {
  if (code != cudaSuccess) {
    last_error = code;
    refused_code = cudaSuccess;
  }
  return code;
}

cudaError_t keep(cudaError_t code, const std::string& why) {
  keep(code);
  refused_code = code;
  refused_text = std::string(names_of(code).text) + ": " + why;
  return code;
}

}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

cudaError_t cudaGetLastError() {
  const cudaError_t code = cudaPeekAtLastError();
  emulation::last_error = cudaSuccess;
  return code;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t broken = emulation::error_of(emulation::current_device());
  return broken != cudaSuccess ? broken : emulation::last_error;
}

const char* cudaGetErrorName(cudaError_t error) { return emulation::names_of(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  emulation::DeviceError& device = emulation::device_error(emulation::current_device());
  if (error != cudaSuccess && device.code.load() == error) return device.text.c_str();
  if (error != cudaSuccess && emulation::refused_code == error) {
    return emulation::refused_text.c_str();
  }
  return emulation::names_of(error).text;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = emulation::settings().devices;
  return emulation::keep(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = emulation::chosen_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= emulation::settings().devices) {
    return emulation::keep(cudaErrorInvalidDevice);
  }
  emulation::chosen_device = device;
  return emulation::keep(emulation::error_of(device));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= emulation::settings().devices) {
    return emulation::keep(cudaErrorInvalidDevice);
  }
  *properties = {};
  std::strcpy(properties->name, "emulated CUDA device (software, for tests)");
  // The same in every process of this machine, and another on every other machine.
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::size_t machine = std::hash<std::string>()(host);
  std::memcpy(properties->uuid.bytes, &machine, sizeof machine);
  properties->uuid.bytes[15] = static_cast<char>(device);
  properties->totalGlobalMem = emulation::settings().memory_bytes;
  properties->sharedMemPerBlock = 48 << 10;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (attribute != cudaDevAttrMultiProcessorCount) return emulation::keep(cudaErrorInvalidValue);
  cudaDeviceProp properties;
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) *value = properties.multiProcessorCount;
  return status;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
