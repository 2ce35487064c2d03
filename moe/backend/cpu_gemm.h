#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/gemm.h"

namespace moe {

/// A part of a loop, from `begin` to `end`.
using PartOfLoop = std::function<void(std::int64_t begin, std::int64_t end)>;
/// Calls `part` for parts of [0, count) of at least `least`, on several threads or on one.
using SharedLoop =
    std::function<void(std::int64_t count, std::int64_t least, const PartOfLoop& part)>;

/// The loop as a whole on the thread that calls.
inline void on_this_thread(std::int64_t count, std::int64_t, const PartOfLoop& part) {
  part(0, count);
}

/// Matrix products on the processor, whose rows `share` shares out. In float they are oneDNN's. In
/// double, which oneDNN lacks and only tests use, they are a blocked loop.
void cpu_gemm(const Gemm<float>& gemm, const SharedLoop& share = on_this_thread);
void cpu_gemm(const Gemm<double>& gemm, const SharedLoop& share = on_this_thread);

enum class Bf16Way : std::uint8_t {
  by_instructions,  ///< oneDNN's, added up in float
  in_float          ///< a product in float of operands that are converted to it
};
/// The ways that this processor has.
std::vector<Bf16Way> bf16_ways();
/// The one that takes less time on it, measured once: all products of a process round alike.
Bf16Way faster_bf16_way();

void cpu_gemm(const Gemm<Bf16>& gemm, Bf16Way way, const SharedLoop& share = on_this_thread);
void cpu_gemm(const Gemm<Bf16, float>& gemm, Bf16Way way, const SharedLoop& share = on_this_thread);
inline void cpu_gemm(const Gemm<Bf16>& gemm, const SharedLoop& share = on_this_thread) {
  cpu_gemm(gemm, faster_bf16_way(), share);
}
inline void cpu_gemm(const Gemm<Bf16, float>& gemm, const SharedLoop& share = on_this_thread) {
  cpu_gemm(gemm, faster_bf16_way(), share);
}

/// The fewest rows that a thread gets. With fewer it packs more than it multiplies.
inline constexpr std::int64_t kLeastGemmRows = 16;

/// The product of the rows from `begin` to `end` of A.
template <class In, class Out>
Gemm<In, Out> product_of_rows(Gemm<In, Out> gemm, std::int64_t begin, std::int64_t end) {
  gemm.m = end - begin;
  gemm.a += gemm.transpose_a ? begin : begin * gemm.lda;
  gemm.c += begin * gemm.ldc;
  return gemm;
}

/// Whether a row of a product has the same bits in every share of at least 16 rows. Not so without
/// AVX-512, where oneDNN chooses its loops by the number of rows.
bool rows_are_alike();

}  // namespace moe
