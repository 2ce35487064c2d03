#pragma once

#include <cstdint>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/gemm.h"

namespace moe {

/// Matrix products on the processor, with as many threads as OpenMP gives to the caller. In float
/// they are oneDNN's. In double, which oneDNN lacks and only tests use, they are a blocked loop on
/// one thread.
void cpu_gemm(const Gemm<float>& gemm);
void cpu_gemm(const Gemm<double>& gemm);

enum class Bf16Way : std::uint8_t {
  by_instructions,  ///< oneDNN's, added up in float
  in_float          ///< a product in float of operands that are converted to it
};
/// The ways that this processor has.
std::vector<Bf16Way> bf16_ways();
/// The one that takes less time on it, measured once: all products of a process round alike.
Bf16Way faster_bf16_way();

void cpu_gemm(const Gemm<Bf16>& gemm, Bf16Way way);
void cpu_gemm(const Gemm<Bf16, float>& gemm, Bf16Way way);
inline void cpu_gemm(const Gemm<Bf16>& gemm) { cpu_gemm(gemm, faster_bf16_way()); }
inline void cpu_gemm(const Gemm<Bf16, float>& gemm) { cpu_gemm(gemm, faster_bf16_way()); }

/// Whether a row of a product has the same bits in every share of at least 16 rows. Not so without
/// AVX-512, where oneDNN chooses its loops by the number of rows.
bool rows_are_alike();

}  // namespace moe
