// What the device in software promises of cuBLAS's grouped products and of cublasLt.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace moelab::cublas_test {
namespace {

/// What the other tests of errors leave is on other devices.
constexpr int kDevice = 63;

class EmulatedCublas : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaSetDevice(kDevice), cudaSuccess);
    cudaGetLastError();
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cublasSetStream(handle_, stream_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    cublasDestroy(handle_);
    cudaStreamDestroy(stream_);
  }

  template <class T>
  T* device_memory(const std::vector<T>& values) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, values.size() * sizeof(T)), cudaSuccess);
    auto* const typed = static_cast<T*>(memory);
    std::copy(values.begin(), values.end(), typed);
    return typed;
  }

  /// [2,1] times [1,2] and [1,3] times [3,1], column-major, the second added to what is there.
  cublasStatus_t two_products(void** a, void** b, void** c, cudaDataType_t type_c) {
    const std::vector<cublasOperation_t> op(2, CUBLAS_OP_N);
    const std::vector<std::int64_t> m{2, 1}, n{2, 1}, k{1, 3}, lda{2, 1}, ldb{1, 3}, ldc{2, 1},
        sizes{1, 1};
    const std::vector<float> alpha{1, 2}, beta{0, 1};
    return cublasGemmGroupedBatchedEx_64(handle_, op.data(), op.data(), m.data(), n.data(),
                                         k.data(), alpha.data(), a, CUDA_R_32F, lda.data(), b,
                                         CUDA_R_32F, ldb.data(), beta.data(), c, type_c, ldc.data(),
                                         2, sizes.data(), CUBLAS_COMPUTE_32F);
  }

  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(EmulatedCublas, MultipliesGroupsOfProductsWhoseAddressesAreOnTheDevice) {
  float* const a = device_memory<float>({1, 2, 3, 4, 5});
  float* const b = device_memory<float>({10, 20, 1, 1, 1});
  float* const c = device_memory<float>({0, 0, 0, 0, 100});
  void** const as = device_memory<void*>({a, a + 2});
  void** const bs = device_memory<void*>({b, b + 2});
  void** const cs = device_memory<void*>({c, c + 4});
  ASSERT_EQ(two_products(as, bs, cs, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(std::vector<float>(c, c + 5), (std::vector<float>{10, 20, 20, 40, 100 + 2 * 12}));
  EXPECT_EQ(two_products(as, bs, cs, CUDA_R_16BF), CUBLAS_STATUS_NOT_SUPPORTED);
  // Addresses on the host would be read by a kernel.
  void* host[] = {a, a + 2};
  EXPECT_EQ(two_products(host, bs, cs, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
}

/// A product of cublasLt with a bias: D[2,1] = A[2,2] B[2,1] + bias.
struct BiasedProduct {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
  std::vector<cublasLtMatmulHeuristicResult_t> all{8};
  int found = 0, found_of_all = 0;

  BiasedProduct(cudaDataType_t type, std::int64_t leading, const void* bias,
                std::uint32_t alignment) {
    cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                   sizeof epilogue);
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatrixLayoutCreate(&a, type, 2, 2, leading);
    cublasLtMatrixLayoutCreate(&b, type, 2, 1, 2);
    cublasLtMatrixLayoutCreate(&d, type, 2, 1, 2);
    cublasLtMatmulPreferenceCreate(&preference);
    for (int attribute = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
         attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; ++attribute) {
      cublasLtMatmulPreferenceSetAttribute(
          preference, static_cast<cublasLtMatmulPreferenceAttributes_t>(attribute), &alignment,
          sizeof alignment);
    }
    cublasLtMatmulAlgoGetHeuristic(nullptr, product, a, b, d, d, preference, 1, &chosen, &found);
    cublasLtMatmulAlgoGetHeuristic(nullptr, product, a, b, d, d, preference, 8, all.data(),
                                   &found_of_all);
  }
  ~BiasedProduct() {
    cublasLtMatmulDescDestroy(product);
    for (cublasLtMatrixLayout_t layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulPreferenceDestroy(preference);
  }
};

TEST_F(EmulatedCublas, AddsTheBiasOfCublasLtAndChecksTheAlignmentThatAKernelWasChosenFor) {
  float* const a = device_memory<float>({1, 2, 3, 4, 0});
  float* const b = device_memory<float>({10, 100});
  float* const bias = device_memory<float>({0.5, 0.25});
  float* const d = device_memory<float>({0, 0});
  const BiasedProduct with(CUDA_R_32F, 2, bias, 8);
  ASSERT_EQ(with.found, 1);
  const float one = 1, zero = 0;
  const auto multiply = [&](const float* from) {
    return cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle_), with.product, &one, from,
                          with.a, b, with.b, &zero, d, with.d, d, with.d, &with.chosen.algo,
                          nullptr, 0, stream_);
  };
  ASSERT_EQ(multiply(a), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(std::vector<float>(d, d + 2), (std::vector<float>{310.5, 420.25}));
  EXPECT_EQ(multiply(a + 1), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(EmulatedCublas, LtHasSeveralKernelsThatAddUpInOrdersOfTheirOwn) {
  const BiasedProduct with(CUDA_R_32F, 2, nullptr, 8);
  ASSERT_EQ(with.found_of_all, kEmulatedKernels);
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t row = nullptr, column = nullptr, one_element = nullptr;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&row, CUDA_R_32F, 1, 3, 1);
  cublasLtMatrixLayoutCreate(&column, CUDA_R_32F, 3, 1, 3);
  cublasLtMatrixLayoutCreate(&one_element, CUDA_R_32F, 1, 1, 1);
  float* const a = device_memory<float>({1, 1, 1, 0});
  float* const b = device_memory<float>({1e8, 3, 3, 0});
  float* const d = device_memory<float>({0, 0});
  const float one = 1, zero = 0;
  std::vector<float> sums;
  for (int i = 0; i < kEmulatedKernels; ++i) {
    const cublasLtMatmulAlgo_t& algo = with.all[static_cast<std::size_t>(i)].algo;
    cublasLtMatmulHeuristicResult_t result{};
    EXPECT_EQ(cublasLtMatmulAlgoCheck(nullptr, product, row, column, one_element, one_element,
                                      &algo, &result),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_NE(cublasLtMatmulAlgoCheck(nullptr, product, row, row, one_element, one_element, &algo,
                                      &result),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(
        cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle_), product, &one, a, row, b,
                       column, &zero, d, one_element, d, one_element, &algo, nullptr, 0, stream_),
        CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    sums.push_back(*d);
  }
  // (1e8 + 3) + 3, and 1e8 + (3 + 3); floats are 8 apart there.
  EXPECT_EQ(sums, (std::vector<float>{1e8, 1e8 + 8, 1e8}));
  cublasLtMatmulDescDestroy(product);
  for (cublasLtMatrixLayout_t layout : {row, column, one_element}) {
    cublasLtMatrixLayoutDestroy(layout);
  }
}

TEST_F(EmulatedCublas, LtHasABiasForEachProductOfABatch) {
  float* const a = device_memory<float>({1, 2, 3, 4, 10, 20, 30, 40});
  float* const b = device_memory<float>({1, 1, 2, 0});
  float* const bias = device_memory<float>({0.5, 0.25, 0, 0, 5, 6});
  float* const d = device_memory<float>({0, 0, 0, 0});
  const BiasedProduct with(CUDA_R_32F, 2, bias, 8);
  const auto batch = [](cublasLtMatrixLayout_t layout, std::int64_t stride) {
    const std::int32_t two = 2;
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &two, sizeof two);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  };
  batch(with.a, 4);
  batch(with.b, 2);
  batch(with.d, 2);
  const std::int64_t stride = 4;
  cublasLtMatmulDescSetAttribute(with.product, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &stride,
                                 sizeof stride);
  const float one = 1, zero = 0;
  ASSERT_EQ(
      cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle_), with.product, &one, a, with.a, b,
                     with.b, &zero, d, with.d, d, with.d, &with.chosen.algo, nullptr, 0, stream_),
      CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(std::vector<float>(d, d + 4), (std::vector<float>{4.5, 6.25, 25, 46}));
}

TEST_F(EmulatedCublas, LtHasNoKernelForDoubleNorForRowsOfBf16AtOddPlaces) {
  EXPECT_EQ(BiasedProduct(CUDA_R_64F, 2, nullptr, 8).found, 0);
  EXPECT_EQ(BiasedProduct(CUDA_R_16BF, 2, nullptr, 8).found, 1);
  EXPECT_EQ(BiasedProduct(CUDA_R_16BF, 3, nullptr, 8).found, 0);
}

}  // namespace
}  // namespace moelab::cublas_test
