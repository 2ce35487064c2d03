#include <cuda_runtime.h>

#include <atomic>
#include <string>
#include <utility>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/settings.h"
#include "tests/cuda_emulation/stream.h"
#include "tests/cuda_emulation/streams.h"

namespace moelab::cuda_emulation {
namespace {

/// "kernel(long int, moe::AddBody<float>)" out of "... [with Parameters = {long int, ...}]".
std::string kernel_name(const std::string& parameters) {
  const std::size_t begin = parameters.find('{'), end = parameters.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return parameters;
  return "kernel(" + parameters.substr(begin + 1, end - begin - 1) + ")";
}

std::string text_of(dim3 size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

void check_configuration(const cudaLaunchConfig_t& config, const std::string& kernel) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const bool grid_fits = grid.x >= 1 && grid.x <= 0x7fffffff && grid.y >= 1 && grid.y <= 65535 &&
                         grid.z >= 1 && grid.z <= 65535;
  if (!grid_fits || threads < 1 || threads > kMostThreads || block.z > 64) {
    throw Refusal(cudaErrorInvalidConfiguration,
                  kernel + ": " + text_of(grid) + " blocks of " + text_of(block) + " threads");
  }
  if (config.dynamicSmemBytes != 0) {
    throw Refusal(cudaErrorInvalidConfiguration, kernel + ": no dynamic shared memory is emulated");
  }
}

bool faults() {
  static auto& launches = *new std::atomic<std::int64_t>(0);
  return ++launches == settings().failing_kernel;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, const char* parameters,
                   std::function<void()> thread) {
  return runtime_call([&] {
    check_configuration(config, kernel_name(parameters));
    const std::uint64_t draw = draw_of(config.stream);
    enqueue(config.stream, kernel_name(parameters),
            [grid = config.gridDim, block = config.blockDim, draw, fails = faults(),
             body = std::move(thread)] {
              if (fails) throw Refusal(cudaErrorIllegalAddress, "the fault that was asked for");
              engine().run(grid, block, body, draw);
            });
    return cudaSuccess;
  });
}

}  // namespace moelab::cuda_emulation
