#pragma once

#include <cublas_v2.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/settings.h"
#include "tests/cuda_emulation/stream.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace moelab::cuda_emulation {

template <class T>
struct Matrices {
  T* first;
  std::int64_t leading;
  std::int64_t stride;
  bool transposed;

  /// Element [row, column] of op(matrix) in product `batch`.
  T& at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return first[batch * stride + (transposed ? column + row * leading : row + column * leading)];
  }
  /// Bytes from the first element to the last of all, where op(matrix) is [rows, columns].
  std::size_t bytes(std::int64_t batch, std::int64_t rows, std::int64_t columns) const {
    if (rows <= 0 || columns <= 0 || batch <= 0) return 0;
    const T* const last = &at(batch - 1, rows - 1, columns - 1);
    return static_cast<std::size_t>(last - first + 1) * sizeof(T);
  }
};

/// C = alpha op(A) op(B) + beta C, [m,n] of k terms, added up in Sum: each of `parts` equal parts in
/// order, then the parts.
template <class Sum, class In, class Out>
struct Product {
  std::int64_t m, n, k, batch;
  Sum alpha, beta;
  Matrices<const In> a, b;
  Matrices<Out> c;
  const Out* bias = nullptr;  ///< [m], added to every column
  std::int64_t bias_stride = 0;
  std::int64_t parts = 1;

  void check(const char* who) const {
    check_device_pointer(a.first, a.bytes(batch, m, k), who);
    check_device_pointer(b.first, b.bytes(batch, k, n), who);
    check_device_pointer(c.first, c.bytes(batch, m, n), who);
    if (bias != nullptr) {
      const std::int64_t elements = (batch - 1) * bias_stride + m;
      check_device_pointer(bias, static_cast<std::size_t>(elements) * sizeof(Out), who);
    }
  }

  void compute() const {
    std::vector<Sum> sums(static_cast<std::size_t>(m)), part_sums(sums);
    for (std::int64_t which = 0; which < batch; ++which) {
      for (std::int64_t column = 0; column < n; ++column) {
        std::fill(sums.begin(), sums.end(), Sum{0});
        for (std::int64_t part = 0; part < parts; ++part) {
          std::fill(part_sums.begin(), part_sums.end(), Sum{0});
          for (std::int64_t term = k * part / parts; term < k * (part + 1) / parts; ++term) {
            const Sum right = b.at(which, term, column);
            for (std::int64_t row = 0; row < m; ++row) {
              part_sums[static_cast<std::size_t>(row)] +=
                  static_cast<Sum>(a.at(which, row, term)) * right;
            }
          }
          for (std::size_t row = 0; row < sums.size(); ++row) sums[row] += part_sums[row];
        }
        for (std::int64_t row = 0; row < m; ++row) {
          Out& out = c.at(which, row, column);
          const Sum before = beta == Sum{0} ? Sum{0} : beta * static_cast<Sum>(out);
          const Sum more =
              bias == nullptr ? Sum{0} : static_cast<Sum>(bias[which * bias_stride + row]);
          out = static_cast<Out>(alpha * sums[static_cast<std::size_t>(row)] + before + more);
        }
      }
    }
  }
};

/// Products by other kernels than the one that is said to be the fastest take so much longer.
inline void linger(std::uint64_t kernel) {
  constexpr std::chrono::microseconds kLonger{300};
  if (kernel != settings().fastest_product) std::this_thread::sleep_for(kLonger);
}

/// Enqueues `work`, and calls `check` first, which may refuse it.
template <class Check, class Work>
cublasStatus_t enqueue_checked(cudaStream_t stream, const char* name, const Check& check,
                               const Work& work) {
  const cudaError_t status = runtime_call([&] {
    check();
    enqueue(stream, name, work);
    return cudaSuccess;
  });
  if (status == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  return status == cudaErrorInvalidValue ? CUBLAS_STATUS_INVALID_VALUE
                                         : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class Sum, class In, class Out>
cublasStatus_t enqueue_product(cudaStream_t stream, const char* name,
                               const Product<Sum, In, Out>& product) {
  return enqueue_checked(
      stream, name, [&] { product.check(name); },
      [product] {
        product.compute();
        linger(0);
      });
}

}  // namespace moelab::cuda_emulation
