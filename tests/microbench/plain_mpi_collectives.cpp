// Times a collective of MPI itself, as a program without moelab would call it, to compare with
// moe-bench collectives:
//
//   mpirun -np 4 plain_mpi_collectives all_reduce|all_gather SECONDS BYTES...
//
// BYTES is the size of the whole array, as in moe-bench. For each size it prints
// "BYTES MICROSECONDS", the median over calls of the time of the slowest rank. Calls go on for
// SECONDS.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "moe/communicator/mpi/c_interface.h"

namespace {

/// Whole numbers, so that sums are exact in any order.
float value(int rank, std::size_t i) {
  return static_cast<float>(i % 64 + static_cast<std::size_t>(rank));
}

/// A collective, its buffers, and what it must give.
struct Case {
  bool reduces = false;
  int rank = 0, ranks = 1;
  std::vector<float> from, to;

  Case(bool reduces, std::size_t bytes) : reduces(reduces) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::size_t block =
        bytes / sizeof(float) / (reduces ? 1 : static_cast<std::size_t>(ranks));
    from.resize(block);
    to.resize(reduces ? block : block * static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = value(rank, i);
  }
  void call() {
    const auto count = static_cast<int>(from.size());
    if (reduces) {
      MPI_Allreduce(from.data(), to.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
      MPI_Allgather(from.data(), count, MPI_FLOAT, to.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
    }
  }
  bool right() const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      float expected = 0;
      for (int peer = 0; peer < ranks && reduces; ++peer) expected += value(peer, i);
      if (!reduces) expected = value(static_cast<int>(i / from.size()), i % from.size());
      if (to[i] != expected) return false;
    }
    return true;
  }
};

double median_of_calls_s(Case& one, double budget_s) {
  std::vector<double> times_s;
  const double begin_s = MPI_Wtime();
  for (int more = 1; more != 0;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    one.call();
    double time_s = MPI_Wtime() - start_s;
    MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times_s.push_back(time_s);
    more = times_s.size() < 5 || MPI_Wtime() - begin_s < budget_s;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  times_s.erase(times_s.begin());  // the first call also makes connections
  std::ranges::sort(times_s);
  return times_s[times_s.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (argc < 4 || (name != "all_reduce" && name != "all_gather")) {
    std::fprintf(stderr, "usage: plain_mpi_collectives all_reduce|all_gather SECONDS BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int wrong = 0;
  for (int i = 3; i < argc; ++i) {
    Case one(name == "all_reduce", static_cast<std::size_t>(std::atoll(argv[i])));
    const double time_s = median_of_calls_s(one, std::atof(argv[2]));
    if (one.rank == 0) std::printf("%s %.1f\n", argv[i], time_s * 1e6);
    if (!one.right()) wrong = 1;
  }
  if (wrong != 0) std::fprintf(stderr, "plain_mpi_collectives: wrong values\n");
  MPI_Finalize();
  return wrong;
}
