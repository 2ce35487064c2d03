#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/console/launcher.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/mpirun.h"

namespace moe {

/// The ranks that a program runs on, from its `--ranks N` (none: not given).
///
/// Inside an MPI job these are the job's ranks; throws InputError when N is another number, or when
/// MPI sees another number than the launcher has started. Outside one, where N is 1 or none and
/// nothing is said of a launcher, they are this process alone. Else this process runs the launcher,
/// `mpirun -np N` by default, with the same arguments, ends as it ends (mpirun.h), and does not
/// return. Throws InputError when N < 1 or mpirun is not installed, Unavailable in a build without
/// MPI. Call it first in main, before anything is written or any thread started. `start_limit_s`:
/// see make_mpi_world and run_mpirun. `ended` is called with mpirun's exit code before this process
/// ends. `input` is what rank 0 then has on stdin. join_world also sets the variables that CUDA and
/// NCCL read when they start, where the user has not, since no thread may run beside that.
std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s = kDefaultStartLimit_s,
                                         const EndedRanks& ended = {},
                                         const std::string& input = {},
                                         const db::options::Launcher& launcher = {});

/// Sets these variables in a process whose ranks are threads, before it starts them.
void set_variables_of_shared_gpu();

}  // namespace moe
