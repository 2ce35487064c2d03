#pragma once

#include "moe/kernels/gemm.h"

namespace moe {

/// Matrix products on the processor, as many threads as OpenMP gives to the caller. float: oneDNN,
/// any shape near the speed of the core. double: oneDNN has none, and only tests compute in double;
/// a blocked loop, one thread.
void cpu_gemm(const Gemm<float>& gemm);
void cpu_gemm(const Gemm<double>& gemm);

}  // namespace moe
