#include "tests/cuda_emulation/nccl/faults.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace moelab::cuda_emulation::nccl {

double nccl_limit_s() {
  const char* const text = std::getenv("MOELAB_EMULATED_NCCL_LIMIT_S");
  const double limit_s = text == nullptr ? 0 : std::atof(text);
  return limit_s > 0 ? limit_s : 60;
}

bool never_ready(int rank) {
  const char* const text = std::getenv("MOELAB_EMULATED_NCCL_NEVER_READY");
  return text != nullptr && std::atoi(text) == rank;
}

void die_if_told(int rank, long kernel) {
  const char* const text = std::getenv("MOELAB_EMULATED_NCCL_DIES");
  int fated_rank = -1;
  long fated_kernel = 0;
  if (text == nullptr || std::sscanf(text, "%d:%ld", &fated_rank, &fated_kernel) != 2) return;
  if (rank == fated_rank && kernel == fated_kernel) std::raise(SIGKILL);
}

}  // namespace moelab::cuda_emulation::nccl
