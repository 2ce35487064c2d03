#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/stream.h"

/// What streams do with words of pinned memory, which CUDA's runtime does not have. Results and
/// addresses are whole numbers there.
namespace moelab::cuda_emulation {
namespace {

std::uint32_t* word_at(unsigned long long address, const char* who) {
  auto* const word = reinterpret_cast<std::uint32_t*>(static_cast<std::uintptr_t>(address));
  check_device_pointer(word, sizeof *word, who);
  return word;
}

int stream_write_value(cudaStream_t stream, unsigned long long address, std::uint32_t value,
                       unsigned) {
  return runtime_call([&] {
    std::uint32_t* const word = word_at(address, "cuStreamWriteValue32");
    enqueue(stream, "cuStreamWriteValue32",
            [word, value] { std::atomic_ref(*word).store(value, std::memory_order_release); });
    return cudaSuccess;
  });
}

/// Until the word is the value, or one that was counted up from it.
int stream_wait_value(cudaStream_t stream, unsigned long long address, std::uint32_t value,
                      unsigned) {
  return runtime_call([&] {
    std::uint32_t* const word = word_at(address, "cuStreamWaitValue32");
    enqueue(stream, "cuStreamWaitValue32", [word, value] {
      const auto is_there = [&] {
        const std::uint32_t now = std::atomic_ref(*word).load(std::memory_order_acquire);
        return static_cast<std::int32_t>(now - value) >= 0;
      };
      while (!is_there()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
    return cudaSuccess;
  });
}

}  // namespace
}  // namespace moelab::cuda_emulation

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  namespace emulation = moelab::cuda_emulation;
  *function = nullptr;
  if (std::string_view(name) == "cuStreamWriteValue32") {
    *function = reinterpret_cast<void*>(emulation::stream_write_value);
  } else if (std::string_view(name) == "cuStreamWaitValue32") {
    *function = reinterpret_cast<void*>(emulation::stream_wait_value);
  }
  *found = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
