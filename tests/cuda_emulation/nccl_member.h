#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// What the tests of NCCL in software share.
namespace moelab::cuda_emulation::nccl_test {

/// One rank with a device, a stream and memory of its own. It ends its communicator with its peers,
/// or aborts it where it has failed.
class Member {
 public:
  Member(const ncclUniqueId& id, int in_rank, int in_size, bool blocking = false)
      : rank(in_rank), size(in_size) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess) << "MOELAB_EMULATED_DEVICES is too small";
    stream = new_stream();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    EXPECT_EQ(settle(ncclCommInitRankConfig(&comm, size, id, rank, &config)), ncclSuccess) << why();
  }
  ~Member() {
    ncclResult_t state = ncclSuccess;
    if (comm != nullptr) ncclCommGetAsyncError(comm, &state);
    if (comm != nullptr && state == ncclSuccess) state = settle(ncclCommFinalize(comm));
    if (comm != nullptr) state == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm);
    for (const cudaStream_t one : streams_) cudaStreamDestroy(one);
    for (void* const one : memory_) cudaFree(one);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// Asks until the call that returned `code` is done.
  ncclResult_t settle(ncclResult_t code) { return settle(comm, code); }
  static ncclResult_t settle(ncclComm_t which, ncclResult_t code) {
    while (code == ncclInProgress) {
      if (ncclCommGetAsyncError(which, &code) != ncclSuccess) return ncclSystemError;
      if (code == ncclInProgress) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return code;
  }
  /// Splits a communicator, and asks until that is done: ncclCommSplit itself returns at once.
  static ncclResult_t split(ncclComm_t which, int color, int key, ncclComm_t* made) {
    const ncclResult_t code = ncclCommSplit(which, color, key, made, nullptr);
    return code == ncclSuccess ? settle(which, ncclInProgress) : code;
  }

  /// Waits until the streams are empty, or the communicator has failed.
  ncclResult_t finish() {
    ncclResult_t state = ncclSuccess;
    for (const cudaStream_t one : streams_) {
      while (cudaStreamQuery(one) == cudaErrorNotReady && state == ncclSuccess) {
        ncclCommGetAsyncError(comm, &state);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    if (state == ncclSuccess) ncclCommGetAsyncError(comm, &state);
    return state;
  }

  std::string why() const { return ncclGetLastError(comm); }

  cudaStream_t new_stream() {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
    streams_.push_back(made);
    return made;
  }

  /// Device memory that lives as long as the member, of bytes of ones that count as written. The host
  /// may read and write it while no stream does.
  std::byte* memory(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(cudaMalloc(&made, std::max<std::size_t>(bytes, 1)), cudaSuccess);
    memory_.push_back(made);
    std::memset(made, 0xff, bytes);
    return static_cast<std::byte*>(made);
  }
  std::byte* memory(const std::vector<std::byte>& content) {
    std::byte* const made = memory(content.size());
    if (!content.empty()) std::memcpy(made, content.data(), content.size());
    return made;
  }

  const int rank, size;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<void*> memory_;
};

/// Runs `body` on threads as ranks.
inline void with_ranks(int size, const std::function<void(Member&)>& body, bool blocking = false) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(id, rank, size, blocking);
      body(member);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What the ranks' communicators say once `body` has been carried out or has failed; "" is success.
inline std::vector<std::string> failures(int size, const std::function<void(Member&)>& body) {
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  with_ranks(size, [&](Member& member) {
    body(member);
    if (member.finish() != ncclSuccess) {
      texts[static_cast<std::size_t>(member.rank)] = member.why();
    }
  });
  return texts;
}

/// A variable of the environment, set while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// The bytes of a value.
template <typename T>
std::vector<std::byte> bytes_of(T value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  return {bytes.begin(), bytes.end()};
}

}  // namespace moelab::cuda_emulation::nccl_test
