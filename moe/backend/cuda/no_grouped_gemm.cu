// The cuBLAS of this build has no call for products of many sizes.
#include <span>

#include "moe/backend/cuda/gemm.cuh"

namespace moe {

template <class In, class Out>
bool grouped_gemm(DeviceStream&, std::span<const Gemm<In, Out>>) {
  return false;
}

template bool grouped_gemm(DeviceStream&, std::span<const Gemm<float, float>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<double, double>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<Bf16, Bf16>>);
template bool grouped_gemm(DeviceStream&, std::span<const Gemm<Bf16, float>>);

}  // namespace moe
