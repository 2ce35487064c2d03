#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_module.h"
#include "moe/errors.h"
#include "moe/source_tree.h"
#include "moelab_revision.h"

namespace moe {
namespace {

/// The driver's library is there. Without it no device can be, and CUDA need not be loaded to know.
bool has_driver() {
  static const bool there = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  return there;
}

constexpr const char* kEmulated = "libmoelab_cuda_emulated.so";

/// What MOELAB_CUDA_MODULE names, or the module of this build.
std::filesystem::path module_file() {
  if (const char* named = std::getenv("MOELAB_CUDA_MODULE")) return named;
  const std::filesystem::path folder = program_folder().parent_path() / "lib" / "moelab";
  std::error_code ignored;
  const bool emulated = std::filesystem::exists(folder / kEmulated, ignored);
  return folder / (emulated ? kEmulated : "libmoelab_cuda.so");
}

/// None where a device was not asked for and there is no driver or no module. Software needs no
/// driver.
const CudaModule* module_of_driver() {
  if (!cuda_is_emulated() && !has_driver()) return nullptr;
  try {
    return &load_cuda_module();
  } catch (const Unavailable&) {
    return nullptr;
  }
}

const CudaModule& load() {
  const std::filesystem::path file = module_file();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw Unavailable(
        fmt::format("CUDA backend: this program was built without CUDA (no {})", file.string()));
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Unavailable(fmt::format("CUDA backend: {}", dlerror()));
  const auto* module = static_cast<const CudaModule*>(dlsym(library, kCudaModuleSymbol));
  if (module == nullptr) throw Unavailable(fmt::format("CUDA backend: {}", dlerror()));
  if (module->moelab_version != moelab::version) {
    throw Unavailable(fmt::format("CUDA backend: {} is of moelab {}, this program of {}",
                                  file.string(), module->moelab_version, moelab::version));
  }
  return *module;
}

}  // namespace

const CudaModule& load_cuda_module() {
  static const CudaModule& module = load();
  return module;
}

bool cuda_is_emulated() {
  static const bool emulated = module_file().filename() == kEmulated;
  return emulated;
}

std::unique_ptr<Backend> make_cuda_backend(int device, double time_limit_s, DeviceShare share) {
  return load_cuda_module().make_cuda_backend(device, time_limit_s, share);
}

std::vector<std::string> cuda_device_ids() {
  try {
    return load_cuda_module().cuda_device_ids();
  } catch (const Unavailable&) {
    return {};
  }
}

int cuda_device_count() {
  const CudaModule* module = module_of_driver();
  return module == nullptr ? 0 : module->cuda_device_count();
}

std::string cuda_device_name(int device) {
  const CudaModule* module = module_of_driver();
  return module == nullptr ? "" : module->cuda_device_name(device);
}

std::int64_t cuda_free_bytes(int device) {
  const CudaModule* module = module_of_driver();
  return module == nullptr ? 0 : module->cuda_free_bytes(device);
}

std::string cuda_version() {
  const CudaModule* module = module_of_driver();
  if (module == nullptr) return "";
  return cuda_is_emulated() ? "emulated" : module->cuda_version();
}

}  // namespace moe
