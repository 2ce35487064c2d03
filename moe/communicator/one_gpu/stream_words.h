#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace moe::one_gpu {

/// Operations of streams on words of pinned memory, which only the driver has. So a stream tells the
/// host where it has come to, and waits for the host, without a kernel.
class StreamWords {
 public:
  /// Throws Unavailable where the driver does not have them.
  StreamWords();

  /// The stream writes `value` when it comes here.
  void write(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const;
  /// The stream goes on from here when the word is `value` or one that was counted up from it.
  void wait(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const;

 private:
  /// cuStreamWriteValue32 and cuStreamWaitValue32, whose addresses and results are whole numbers.
  using Operation = int (*)(cudaStream_t, unsigned long long address, std::uint32_t value,
                            unsigned flags);
  Operation write_ = nullptr, wait_ = nullptr;
};

}  // namespace moe::one_gpu
