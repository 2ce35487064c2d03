// One rank of a job that never comes together: rank 1 stops itself, or idles, before MPI's start.
// usage: mpi_start stop|idle|start LIMIT_S, under mpirun; start_test judges what comes of it.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "moe/communicator/communicator.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::string_view(rank) == "1") {
    if (what == "stop") std::raise(SIGSTOP);
    while (what == "idle") pause();
  }
  const auto world = moe::make_mpi_world(std::atof(argv[2]));
  if (world->rank == 0) std::puts("together");
  moe::finalize_mpi();
  return 0;
}
