#include "moe/backend/cpu_gemm.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/kernels/serial_team.h"

namespace moe {
namespace {

template <class Real>
void fill_rows(const Gemm<Real>& gemm, Real* c, const Real* bias) {
  SerialTeam team;
  const FillRowsBody<Real, Real> fill{c, gemm.ldc, gemm.n, bias};
  for (std::int64_t row = 0; row < gemm.m; ++row) fill(team, row);
}

/// Weight gradients have a long k, down the columns of A. In panels of k, the data that oneDNN
/// packs stays in the cache: up to 12% faster at m = 2048, n = 512, k = 2048, and never slower.
/// Other products have panels because oneDNN cuts a longer k into blocks by the number of rows, and
/// the bits of a sum depend on its blocks.
constexpr std::int64_t kTransposedPanel = 512, kPanel = 768;

void multiply(const Gemm<float>& gemm, const float* a, const float* b, float* c, bool accumulate) {
  omp_set_num_threads(1);  // of oneDNN, for this thread
  const std::int64_t panel = gemm.transpose_a ? kTransposedPanel : kPanel;
  for (std::int64_t first = 0; first < gemm.k; first += panel) {
    const dnnl_status_t status = dnnl_sgemm(
        gemm.transpose_a ? 'T' : 'N', gemm.transpose_b ? 'T' : 'N', gemm.m, gemm.n,
        std::min(panel, gemm.k - first), 1.0f, a + (gemm.transpose_a ? first * gemm.lda : first),
        gemm.lda, gemm.transpose_b ? b + first : b + first * gemm.ldb, gemm.ldb,
        accumulate || first > 0 ? 1.0f : 0.0f, c, gemm.ldc);
    if (status != dnnl_success) {
      throw std::logic_error("dnnl_sgemm: status " + std::to_string(status) + " for m " +
                             std::to_string(gemm.m) + ", n " + std::to_string(gemm.n) + ", k " +
                             std::to_string(gemm.k));
    }
  }
}

/// Copies blocks of B so that the inner loop runs along rows of B and C.
void multiply(const Gemm<double>& gemm, const double* a, const double* b, double* c,
              bool accumulate) {
  constexpr std::int64_t kDepth = 128, kWidth = 256;
  if (!accumulate) fill_rows<double>(gemm, c, nullptr);
  // As large as this product needs: most are small, and clearing a whole panel would take longer.
  const std::int64_t stride = std::min(kWidth, gemm.n);
  std::vector<double> panel(static_cast<std::size_t>(std::min(kDepth, gemm.k) * stride));
  const auto a_at = [&](std::int64_t i, std::int64_t k) {
    return gemm.transpose_a ? a[k * gemm.lda + i] : a[i * gemm.lda + k];
  };
  for (std::int64_t first = 0; first < gemm.k; first += kDepth) {
    const std::int64_t depth = std::min(kDepth, gemm.k - first);
    for (std::int64_t column = 0; column < gemm.n; column += kWidth) {
      const std::int64_t width = std::min(kWidth, gemm.n - column);
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t j = 0; j < width; ++j) {
          panel[k * stride + j] = gemm.transpose_b ? b[(column + j) * gemm.ldb + first + k]
                                                   : b[(first + k) * gemm.ldb + column + j];
        }
      }
      for (std::int64_t i = 0; i < gemm.m; ++i) {
        double* out = c + i * gemm.ldc + column;
        for (std::int64_t k = 0; k < depth; ++k) {
          const double factor = a_at(i, first + k);
          const double* in = panel.data() + k * stride;
#pragma GCC ivdep
          for (std::int64_t j = 0; j < width; ++j) out[j] += factor * in[j];
        }
      }
    }
  }
}

template <class Real>
void run(const Gemm<Real>& gemm) {
  if (gemm.m == 0 || gemm.n == 0) return;
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    Real* c = gemm.c + i * gemm.stride_c;
    bool accumulate = gemm.accumulate;
    if (gemm.bias != nullptr || (gemm.k == 0 && !accumulate)) {
      fill_rows(gemm, c, gemm.bias);
      accumulate = true;
    }
    if (gemm.k == 0) continue;
    multiply(gemm, gemm.a + i * gemm.stride_a, gemm.b + i * gemm.stride_b, c, accumulate);
  }
}

template <class Real>
void run_shared(const Gemm<Real>& gemm, const SharedLoop& share) {
  share(gemm.m, kLeastGemmRows,
        [&](std::int64_t begin, std::int64_t end) { run(product_of_rows(gemm, begin, end)); });
}

}  // namespace

void cpu_gemm(const Gemm<float>& gemm, const SharedLoop& share) { run_shared(gemm, share); }
void cpu_gemm(const Gemm<double>& gemm, const SharedLoop& share) { run_shared(gemm, share); }

void leave_openmp_place() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int core : ids) {
      if (core < CPU_SETSIZE) CPU_SET(core, &cores);
    }
  }
  if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);
}

bool rows_are_alike() {
  static const bool alike =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return alike;
}

}  // namespace moe
