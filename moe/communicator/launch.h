#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

namespace moe {

/// The ranks that a program runs on, from its `--ranks N` (none: not given).
///
/// Inside an MPI job: the job's ranks; throws InputError when N is another number. Outside one: a
/// group of this process alone when N is 1 or none, and for more this process runs
/// `mpirun -np N` with the same arguments, ends as it ends (mpirun.h) and does not return. Throws
/// InputError when N < 1 or mpirun is not installed, Unavailable when built without MPI. Call it
/// first in main, before anything is written or any thread started. `start_limit_s`: see
/// make_mpi_world. `ended` is called with mpirun's exit code before this process ends with it.
std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s = kDefaultStartLimit_s,
                                         const std::function<void(int code)>& ended = {});

/// Decides how the threads of a rank wait for work, and restarts this process, once, because OpenMP
/// reads that when it is loaded: awake where the rank's share of the cores (cores.h), less what
/// others compute on now, leaves one over for whoever comes later; asleep where not, and in a
/// cluster in a box, whose cores also move bytes. `ranks` as in join_world, `threads` per rank, 0 =
/// the default. OMP_WAIT_POLICY and GOMP_SPINCOUNT of the user win. Nothing where join_world will
/// start the ranks. Before anything is written or any thread started.
void choose_waiting(std::optional<int> ranks, int threads, char** argv);

/// What the environment of this process says about it.
Waiting waiting_of_threads();

/// What join_world runs; of the job's argv, the program and its arguments.
std::vector<std::string> mpirun_command(int ranks, char** argv);

/// Ranks of the MPI job as its launcher says in the environment; none outside a job or where it
/// does not say.
std::optional<int> mpi_job_size();

}  // namespace moe
