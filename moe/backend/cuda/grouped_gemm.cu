// Products of many sizes in one call: cuBLAS since CUDA 12.5.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_exec.cuh"

namespace moe {
namespace {

/// Stores addresses that are the argument of a launch, so that no copy from the host is waited for.
struct StorePointersBody {
  const void* from[DeviceStream::kMostPointers];
  const void** to;
  MOE_BODY void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// What the call takes of each product.
template <class Real>
struct GroupArrays {
  std::vector<cublasOperation_t> op_a, op_b;
  std::vector<std::int64_t> m, n, k, lda, ldb, ldc, sizes;
  std::vector<Real> ones, betas;
};

}  // namespace

template <class In, class Out>
bool grouped_gemm(DeviceStream& stream, std::span<const Gemm<In, Out>> gemms) {
  const void** const pointers = stream.pointers();
  if (pointers == nullptr) return false;
  const std::size_t count = gemms.size();
  GroupArrays<Wide<In>> arrays;
  StorePointersBody addresses{};
  addresses.to = pointers;
  for (std::size_t i = 0; i < count; ++i) {
    const Gemm<In, Out>& gemm = gemms[i];
    arrays.op_a.push_back(blas_operation(gemm.transpose_a));
    arrays.op_b.push_back(blas_operation(gemm.transpose_b));
    arrays.m.push_back(gemm.m);
    arrays.n.push_back(gemm.n);
    arrays.k.push_back(gemm.k);
    arrays.lda.push_back(gemm.lda);
    arrays.ldb.push_back(gemm.ldb);
    arrays.ldc.push_back(gemm.ldc);
    arrays.sizes.push_back(1);
    arrays.ones.push_back(1);
    arrays.betas.push_back(gemm.accumulate ? 1 : 0);
    addresses.from[i] = gemm.b;
    addresses.from[count + i] = gemm.a;
    addresses.from[2 * count + i] = gemm.c;
  }
  CudaExec(stream).elements(static_cast<std::int64_t>(3 * count), addresses);
  const cublasStatus_t status = cublasGemmGroupedBatchedEx_64(
      stream.blas(), arrays.op_b.data(), arrays.op_a.data(), arrays.n.data(), arrays.m.data(),
      arrays.k.data(), arrays.ones.data(), pointers, blas_type<In>(), arrays.ldb.data(),
      pointers + count, blas_type<In>(), arrays.lda.data(), arrays.betas.data(),
      const_cast<void* const*>(pointers + 2 * count), blas_type<Out>(), arrays.ldc.data(),
      static_cast<std::int64_t>(count), arrays.sizes.data(),
      std::is_same_v<In, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) return false;
  check(status, "cublasGemmGroupedBatchedEx");
  return true;
}

template bool grouped_gemm(DeviceStream&, std::span<const Gemm<float, float>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<double, double>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<Bf16, Bf16>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<Bf16, float>>);

}  // namespace moe
