// What the device in software says of bytes that nobody has written (unwritten.h).
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <string>

#include "tests/cuda_emulation/nccl_member.h"

namespace moelab::unwritten_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A device of its own for each test, because the error of a device stays.
class Unwritten : public ::testing::Test {
 protected:
  void SetUp() override {
    static int device = 48;
    ASSERT_EQ(cudaSetDevice(device++), cudaSuccess);
    cudaGetLastError();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override { cudaStreamDestroy(stream_); }

  static float* device_memory(int count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(float)), cudaSuccess);
    return static_cast<float*>(memory);
  }
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), int threads, Arguments... arguments) {
    const cudaLaunchConfig_t config{1, static_cast<unsigned>(threads), 0, stream_};
    EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, arguments...), cudaSuccess);
  }
  void copy(float* to, const float* from, int count, cudaMemcpyKind kind) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, count * sizeof(float), kind, stream_), cudaSuccess);
  }
  void set(float* memory, int count) {
    EXPECT_EQ(cudaMemsetAsync(memory, 0, count * sizeof(float), stream_), cudaSuccess);
  }
  /// The text of the error that the device has after all its work.
  std::string error() {
    const cudaError_t status = cudaStreamSynchronize(stream_);
    return status == cudaSuccess ? "" : cudaGetErrorString(status);
  }

  cudaStream_t stream_ = nullptr;
};

void copies(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
void adds_to(float* sum) { atomicAdd(sum, 1.0f); }

TEST_F(Unwritten, BytesThatAKernelReadsAreAnErrorThatSaysWhereTheyAre) {
  float* const from = device_memory(64);
  set(from, 33);
  launch(copies, 33, device_memory(64), from);
  EXPECT_EQ(error(), "");
  launch(copies, 64, device_memory(64), from);
  EXPECT_THAT(error(), AllOf(HasSubstr("kernel(float*, const float*): block 0: thread "),
                             HasSubstr(" reads 4 bytes of device memory (byte "),
                             HasSubstr(" of 256), of which nobody wrote byte 0 "
                                       "(tests/cuda_emulation/unwritten_test.cpp:")));
}

TEST_F(Unwritten, BytesAreWrittenByKernelsAndCopiesFromTheHost) {
  float* const one = device_memory(32);
  float* const other = device_memory(32);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 32 * sizeof(float)), cudaSuccess);
  copy(one, static_cast<float*>(pinned), 32, cudaMemcpyHostToDevice);
  launch(copies, 32, other, one);
  launch(copies, 32, one, other);
  EXPECT_EQ(error(), "");
}

TEST_F(Unwritten, BytesThatAnAtomicAddReadsAreAnError) {
  launch(adds_to, 1, device_memory(1));
  EXPECT_THAT(error(), HasSubstr("reads 4 bytes of device memory (byte 0 of 4)"));
}

TEST_F(Unwritten, IsWhatIsGivenBackAndTakenAgain) {
  float* const before = device_memory(32);
  set(before, 32);
  EXPECT_EQ(error(), "");
  EXPECT_EQ(cudaFree(before), cudaSuccess);
  launch(copies, 32, device_memory(32), device_memory(32));
  EXPECT_THAT(error(), HasSubstr("nobody wrote"));
}

TEST_F(Unwritten, BytesMayBeCopiedAndAreUnwrittenInTheCopy) {
  float* const from = device_memory(64);
  float* const to = device_memory(64);
  set(from, 32), set(to, 64);
  copy(to, from, 64, cudaMemcpyDeviceToDevice);
  launch(copies, 32, from, to);
  EXPECT_EQ(error(), "");
  launch(copies, 1, from, to + 32);
  EXPECT_THAT(error(), HasSubstr("(byte 128 of 256)"));
}

/// As kernels/pattern.h's.
struct PatternBody {
  float* memory;
};
void lays_pattern(PatternBody body) { body.memory[threadIdx.x] = 5; }
void finds_pattern(PatternBody body, float* found) {
  found[threadIdx.x] = body.memory[threadIdx.x];
}

TEST_F(Unwritten, AreBytesUnderAPattern) {
  float* const memory = device_memory(32);
  set(memory, 32);
  launch(lays_pattern, 1, PatternBody{memory});
  launch(finds_pattern, 32, PatternBody{memory}, device_memory(32));
  launch(copies, 31, device_memory(32), memory + 1);
  EXPECT_EQ(error(), "");
  launch(copies, 1, device_memory(32), memory);
  EXPECT_THAT(error(), HasSubstr("(byte 0 of 128)"));
}

TEST_F(Unwritten, BytesThatAProductReadsAreAnError) {
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetStream(handle, stream_), CUBLAS_STATUS_SUCCESS);
  float* const a = device_memory(4);
  float* const b = device_memory(4);
  float* const c = device_memory(4);
  set(a, 4), set(b, 4);
  const auto product = [&](float beta) {
    const float one = 1;
    EXPECT_EQ(cublasSgemmStridedBatched_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, 0,
                                           b, 2, 0, &beta, c, 2, 0, 1),
              CUBLAS_STATUS_SUCCESS);
    return error();
  };
  EXPECT_EQ(product(0), "") << "what a factor of 0 hides is not read";
  EXPECT_EQ(product(1), "") << "the product before has written it";
  copy(b, device_memory(1), 1, cudaMemcpyDeviceToDevice);
  EXPECT_THAT(product(0), AllOf(HasSubstr("cublasSgemmStridedBatched: reads 4 bytes"),
                                HasSubstr("(byte 0 of 16)")));
  cublasDestroy(handle);
}

TEST_F(Unwritten, BytesOfMessagesMayOnlyBeGapsBetweenTensors) {
  using cuda_emulation::nccl_test::Member;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
  float* const from = device_memory(192);
  float* const to = device_memory(192);
  const auto message = [&] {
    EXPECT_EQ(ncclAllReduce(from, to, 192, ncclFloat32, ncclSum, comm, stream_), ncclSuccess);
    return error();
  };
  set(from, 30), set(from + 64, 128);
  EXPECT_EQ(message(), "") << "from the end of a tensor to the next multiple of 256 bytes";
  launch(copies, 192, from, to);
  EXPECT_EQ(error(), "") << "a message writes all it holds";
  copy(from + 10, device_memory(1), 1, cudaMemcpyDeviceToDevice);
  EXPECT_THAT(message(), AllOf(HasSubstr("ncclAllReduce(192 ncclFloat32): reads 768 bytes"),
                               HasSubstr("nobody wrote byte 40")));
  ncclCommAbort(comm);
}

}  // namespace
}  // namespace moelab::unwritten_test
