// What the device in software promises: that it notices what a device would leave undefined.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulation/stream.h"

namespace moelab::emulation_test {
namespace {

using cuda_emulation::check_device_pointer;
using cuda_emulation::enqueue;

/// A device of its own for each test, because the error of a device stays.
class Emulation : public ::testing::Test {
 protected:
  void SetUp() override {
    static int device = 0;
    ASSERT_EQ(cudaSetDevice(device++), cudaSuccess);
    cudaGetLastError();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override { cudaStreamDestroy(stream_); }

  template <class T>
  T* device_memory(std::size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(T)), cudaSuccess);
    return static_cast<T*>(memory);
  }
  template <class T>
  T* pinned_memory(std::size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, count * sizeof(T)), cudaSuccess);
    return static_cast<T*>(memory);
  }
  template <class... Parameters, class... Arguments>
  cudaError_t launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                     Arguments... arguments) {
    const cudaLaunchConfig_t config{blocks, threads, 0, stream_};
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }
  /// The text of the error that the device has after all its work.
  std::string error_of_device() {
    const cudaError_t status = cudaStreamSynchronize(stream_);
    return status == cudaSuccess ? "" : cudaGetErrorString(status);
  }

  cudaStream_t stream_ = nullptr;
};

__global__ void write_index(int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<int>(i);
}

TEST_F(Emulation, RunsEveryThreadOfEveryBlock) {
  int* const out = device_memory<int>(40 * 96);
  ASSERT_EQ(launch(write_index, 40, 96, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  for (int i = 0; i < 40 * 96; ++i) ASSERT_EQ(out[i], i);
}

/// Each thread reads what the next one wrote.
__global__ void turn_in_block(int* out) {
  __shared__ int values[128];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % 128];
}

TEST_F(Emulation, OrdersABlockByItsBarriers) {
  int* const out = device_memory<int>(128);
  ASSERT_EQ(launch(turn_in_block, 3, 128, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  for (int i = 0; i < 128; ++i) ASSERT_EQ(out[i], (i + 1) % 128);
}

__global__ void turn_in_block_without_barrier(int* out) {
  __shared__ int values[128];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = values[(threadIdx.x + 1) % 128] + values[(threadIdx.x + 127) % 128];
}

TEST_F(Emulation, IsGreedySoThatMissingBarriersShow) {
  int* const out = device_memory<int>(128);
  ASSERT_EQ(launch(turn_in_block_without_barrier, 1, 128, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  int right = 0;
  for (int i = 0; i < 128; ++i) right += out[i] == (i + 1) % 128 + (i + 127) % 128;
  EXPECT_LT(right, 128);
}

/// The barrier between reading the last sum and writing the next is missing.
__global__ void sum_twice(double* out) {
  __shared__ double of_warp[8];
  double sum = 1;
  for (int round = 0; round < 2; ++round) {
    double value = sum * threadIdx.x;
    for (int distance = 16; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(0xffffffff, value, distance);
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    sum = 0;
    for (const double part : of_warp) sum += part;
  }
  out[threadIdx.x] = sum;
}

TEST_F(Emulation, IsGreedyAcrossTwoReductions) {
  double* const out = device_memory<double>(256);
  ASSERT_EQ(launch(sum_twice, 16, 256, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  const double once = 255 * 256 / 2;
  int right = 0;
  for (int i = 0; i < 256; ++i) right += out[i] == once * once;
  EXPECT_LT(right, 256);
}

__global__ void read_unwritten_shared(float* out) {
  __shared__ float values[32];
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = 1;
}

TEST_F(Emulation, GivesEveryBlockSharedMemoryOfNaN) {
  float* const out = device_memory<float>(32 * 8);
  ASSERT_EQ(launch(read_unwritten_shared, 1, 32, out), cudaSuccess);  // leaves values behind
  ASSERT_EQ(launch(read_unwritten_shared, 8, 32, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  for (int i = 0; i < 32 * 8; ++i) ASSERT_TRUE(std::isnan(out[i])) << i;
}

__global__ void shuffles(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_up_sync(0xffffffff, lane, 3);
  out[32 + lane] = __shfl_down_sync(0xffffffff, lane, 3);
  out[64 + lane] = __shfl_xor_sync(0xffffffff, lane, 5);
  out[96 + lane] = __shfl_sync(0xffffffff, lane, 7);
  out[128 + lane] = static_cast<int>(__ballot_sync(0xffffffff, lane % 3 == 0));
  out[160 + lane] = __shfl_sync(0xffffffff, lane, 2, 8);
  out[192 + lane] = __any_sync(0xffffffff, lane == 9) + 2 * __all_sync(0xffffffff, lane < 31);
}

TEST_F(Emulation, ShufflesAndVotesAsCudaDoes) {
  int* const out = device_memory<int>(224);
  ASSERT_EQ(launch(shuffles, 1, 32, out), cudaSuccess);
  ASSERT_EQ(error_of_device(), "");
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(out[32 + lane], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(out[64 + lane], lane ^ 5);
    EXPECT_EQ(out[96 + lane], 7);
    EXPECT_EQ(out[128 + lane], 0x49249249);
    EXPECT_EQ(out[160 + lane], lane / 8 * 8 + 2);
    EXPECT_EQ(out[192 + lane], 1);
  }
}

__global__ void two_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(Emulation, NamesTheLinesOfDifferentBarriers) {
  ASSERT_EQ(launch(two_barriers, 1, 64), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("comes to __syncthreads"), std::string::npos) << error;
  EXPECT_NE(error.find("waits in __syncthreads"), std::string::npos) << error;
  EXPECT_NE(error.find("emulation_test.cpp:"), std::string::npos) << error;
}

__global__ void masks_apart() { __shfl_sync(threadIdx.x < 16 ? 0x1ffff : 0xffffffff, 1, 0); }

TEST_F(Emulation, NamesLanesWhoseMasksDiffer) {
  ASSERT_EQ(launch(masks_apart, 1, 32), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("with mask 0x"), std::string::npos) << error;
}

__global__ void lanes_apart() {
  if (threadIdx.x % 2 == 0) {
    __shfl_sync(0xffffffff, 1, 0);
  } else {
    __syncwarp();
  }
}

TEST_F(Emulation, NamesLanesInDifferentCalls) {
  ASSERT_EQ(launch(lanes_apart, 1, 32), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("__shfl_sync"), std::string::npos) << error;
  EXPECT_NE(error.find("__syncwarp"), std::string::npos) << error;
}

/// Lane 15 reads from lane 31, which the mask does not name. What a device gives it is undefined.
__global__ void mask_without_the_last_lane(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 31) out[lane] = __shfl_xor_sync(0x7fffffff, lane, 16);
}

TEST_F(Emulation, NamesALaneThatReadsFromOneThatItsMaskLacks) {
  int* const out = device_memory<int>(32);
  ASSERT_EQ(launch(mask_without_the_last_lane, 1, 32, out), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("thread 15 reads in __shfl_xor_sync"), std::string::npos) << error;
  EXPECT_NE(error.find("from lane 31, which its mask 0x7fffffff does not name"), std::string::npos)
      << error;
}

__global__ void lane_that_has_ended(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 31) out[lane] = __shfl_down_sync(0xffffffff, lane, 1);
}

TEST_F(Emulation, NamesALaneThatReadsFromOneThatHasEnded) {
  int* const out = device_memory<int>(32);
  ASSERT_EQ(launch(lane_that_has_ended, 1, 32, out), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("thread 30 reads in __shfl_down_sync"), std::string::npos) << error;
  EXPECT_NE(error.find("from lane 31, which has ended"), std::string::npos) << error;
}

__global__ void barrier_that_is_never_filled() {
  if (threadIdx.x == 63) return;
  if (threadIdx.x > 32) __shfl_sync(0x7fffffff, 1, 0);  // waits for thread 32, too
  __syncthreads();
}

TEST_F(Emulation, NamesBarriersThatAreNeverFilled) {
  ASSERT_EQ(launch(barrier_that_is_never_filled, 1, 64), cudaSuccess);
  const std::string error = error_of_device();
  EXPECT_NE(error.find("threads 0 to 32 wait for ever in __syncthreads"), std::string::npos)
      << error;
  EXPECT_NE(error.find("threads 63 to 63 have ended"), std::string::npos) << error;
}

TEST_F(Emulation, KeepsTheErrorOfADevice) {
  ASSERT_EQ(launch(two_barriers, 1, 64), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorLaunchFailure);
}

TEST_F(Emulation, KeepsTheLastErrorUntilItIsAskedFor) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
  enqueue(stream_, "a pause", [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Emulation, CopiesInTheOrderOfTheStreamAndLate) {
  float* const device = device_memory<float>(4);
  float* const host = pinned_memory<float>(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(device[i]));
  enqueue(stream_, "a pause", [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  host[0] = 1;
  ASSERT_EQ(cudaMemcpyAsync(device, host, 4, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  host[0] = 2;  // too early: the copy has not run
  ASSERT_EQ(error_of_device(), "");
  EXPECT_EQ(device[0], 2);
}

TEST_F(Emulation, RefusesCopiesThatAreNotWhatTheySay) {
  float* const device = device_memory<float>(4);
  float* const host = pinned_memory<float>(4);
  std::vector<float> pageable(4);
  EXPECT_EQ(cudaMemcpyAsync(device, pageable.data(), 16, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidValue);
  const std::string why = cudaGetErrorString(cudaErrorInvalidValue);
  EXPECT_NE(why.find("pageable memory"), std::string::npos) << why;
  EXPECT_EQ(cudaMemcpyAsync(device, host, 16, cudaMemcpyDeviceToHost, stream_),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyAsync(device, host, 20, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device + 1, device, 12, cudaMemcpyDeviceToDevice, stream_),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device, host, 16, cudaMemcpyDefault, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device, host, 16, cudaMemcpyDefault, nullptr),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(error_of_device(), "");
}

TEST_F(Emulation, MakesStreamsWaitForEvents) {
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  int order = 0, first = 0, second = 0;
  enqueue(stream_, "first", [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    first = ++order;
  });
  ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  enqueue(other, "second", [&] { second = ++order; });
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

/// What does not wait for a stream of a higher priority overtakes it, where work runs late. A
/// thread that is kept waiting for its core may hide that now and then.
TEST_F(Emulation, RunsStreamsOfAHigherPriorityLate) {
  cudaStream_t first = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, -5), cudaSuccess);
  int overtaken = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::atomic<int> order = 0;
    int of_first = 0;
    enqueue(first, "first", [&] { of_first = ++order; });
    enqueue(stream_, "other", [&] { ++order; });
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
    overtaken += of_first - 1;
  }
  if (cuda_emulation::seed() == 1) {
    EXPECT_GT(overtaken, 4);
  }
  EXPECT_EQ(cudaStreamDestroy(first), cudaSuccess);
}

TEST_F(Emulation, MakesAnExceptionOfWorkTheErrorOfTheDevice) {
  enqueue(stream_, "ncclAllReduce", [] { throw std::runtime_error("rank 1 is gone"); });
  const std::string error = error_of_device();
  EXPECT_NE(error.find("ncclAllReduce: rank 1 is gone"), std::string::npos) << error;
}

TEST_F(Emulation, RefusesMemoryThatIsNotTheDevices) {
  const std::vector<float> pageable(4);
  EXPECT_THROW(check_device_pointer(pageable.data(), 16, "ncclSend"), std::invalid_argument);
  const float* const device = device_memory<float>(4);
  EXPECT_NO_THROW(check_device_pointer(device, 16, "ncclSend"));
  EXPECT_THROW(check_device_pointer(device + 1, 16, "ncclSend"), std::invalid_argument);
}

TEST_F(Emulation, RefusesLaunchesThatNoDeviceTakes) {
  EXPECT_EQ(launch(two_barriers, 1, 2048), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(two_barriers, 0, 32), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(two_barriers, dim3(1, 70000), 32), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_of_device(), "");
}

TEST_F(Emulation, MultipliesColumnMajorMatrices) {
  // C [2,3] = 2 A [2,2] B^T, B [3,2]; then C = C + 2 A B^T.
  float* const a = device_memory<float>(4);
  float* const b = device_memory<float>(6);
  float* const c = device_memory<float>(6);
  std::iota(a, a + 4, 1.0f);  // [1 3; 2 4]
  std::iota(b, b + 6, 1.0f);  // [1 4; 2 5; 3 6]
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetStream(handle, stream_), CUBLAS_STATUS_SUCCESS);
  const float two = 2;
  for (const float beta : {0.0f, 1.0f}) {
    ASSERT_EQ(cublasSgemmStridedBatched_64(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 3, 2, &two, a, 2, 0,
                                           b, 3, 0, &beta, c, 2, 0, 1),
              CUBLAS_STATUS_SUCCESS);
  }
  ASSERT_EQ(error_of_device(), "");
  const std::vector<float> once{13, 18, 17, 24, 21, 30};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], 4 * once[i]) << i;
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace moelab::emulation_test
