#pragma once

#include "moe/kernels/bf16.h"
#include "moe/kernels/gemm.h"

namespace moe {

/// Matrix products on the processor, with as many threads as OpenMP gives to the caller. In float
/// they are oneDNN's. In double, which oneDNN lacks and only tests use, they are a blocked loop on
/// one thread.
void cpu_gemm(const Gemm<float>& gemm);
void cpu_gemm(const Gemm<double>& gemm);
/// oneDNN's too, added up in float, where the processor multiplies bf16. Elsewhere the operands are
/// converted to float for a product in float.
void cpu_gemm(const Gemm<Bf16>& gemm);
void cpu_gemm(const Gemm<Bf16, float>& gemm);

/// Whether a row of a product has the same bits in every share of at least 16 rows. Not so without
/// AVX-512, where oneDNN chooses its loops by the number of rows.
bool rows_are_alike();

}  // namespace moe
