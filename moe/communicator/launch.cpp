#include "moe/communicator/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "moe/communicator/launch_command.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/mpirun.h"
#include "moe/communicator/slurm.h"
#include "moe/errors.h"

namespace moe {
namespace {

/// What the libraries of a device read when they start. Calls of NCCL are issued in one order
/// (issue_order.h), and the first setting makes kernels of different communicators start in that
/// order and overlap. Kernels that are loaded at their first use may wait for all that runs on the
/// device, even for kernels of NCCL that wait for other ranks, and make the first iteration slow.
constexpr std::array kDeviceSettings = {
    DefaultVariable{"NCCL_LAUNCH_ORDER_IMPLICIT", "1"},
    DefaultVariable{"CUDA_MODULE_LOADING", "EAGER"},
};

/// Of one device that serves the streams of many ranks: streams that share a connection wait for each
/// other.
constexpr std::array kSharedDeviceSettings = {
    DefaultVariable{"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
};

[[noreturn]] void start_ranks(int ranks, char** argv, double time_limit_s, const EndedRanks& ended,
                              const std::string& input, const db::options::Launcher& launcher) {
  prepare_launch(ranks, launcher);
  const bool mpirun = launcher.command.empty();
  // mpirun gives its ranks a terminal of their own, so whether ours is one is decided here.
  if (isatty(STDOUT_FILENO) == 0) setenv("NO_COLOR", "1", /*overwrite=*/0);
  leave_mpi_job();
  run_mpirun(launch_command(ranks, launcher, argv), time_limit_s, ended, kLaunchLimit_s, input,
             mpirun ? "mpirun" : launcher.command);
}

}  // namespace

void set_variables_of_shared_gpu() {
  set_unless_set(kDeviceSettings);
  set_unless_set(kSharedDeviceSettings);
}

std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s, const EndedRanks& ended,
                                         const std::string& input,
                                         const db::options::Launcher& launcher) {
  if (ranks && *ranks < 1) throw InputError(fmt::format("--ranks {}: at least 1 expected", *ranks));
  set_unless_set(kDeviceSettings);
  const auto check = [&](int size) {
    if (ranks && size != *ranks) {
      throw InputError(fmt::format(
          "--ranks {}, but this MPI job has {} rank{}: leave --ranks out or make them agree{}",
          *ranks, size, size == 1 ? "" : "s",
          size == 1 && tasks_of_slurm_step()
              ? "; in a shell that srun has started, start that by salloc or srun --mpi=none"
              : ""));
    }
  };
  if (inside_mpi_job()) {
    if (const auto size = mpi_job_size()) check(*size);
    auto world = make_mpi_world(start_limit_s);
    check(world->size);
    if (const auto size = mpi_job_size().value_or(world->size); size != world->size) {
      throw InputError(fmt::format(
          "the launcher has started {} ranks, of which MPI sees {}: expected a launcher "
          "that this MPI knows, in Slurm `srun --mpi=pmix` (`srun --mpi=list` tells "
          "what it has), or mpirun",
          size, world->size));
    }
    return world;
  }
  if (!starts_ranks(ranks, launcher)) return make_solo_communicator();
  if (!ranks) {
    throw InputError(launcher.command.empty()
                         ? fmt::format("--hostfile {}: expected slots=N on every line, or --ranks",
                                       launcher.hostfile)
                         : "--launcher: expected --ranks beside it");
  }
  if (!has_mpi()) throw Unavailable(fmt::format("--ranks {}: built without MPI", *ranks));
  start_ranks(*ranks, argv, start_limit_s, ended, input, launcher);
}

}  // namespace moe
