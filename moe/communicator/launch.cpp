#include "moe/communicator/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "moe/communicator/mpi_job.h"
#include "moe/communicator/mpirun.h"
#include "moe/communicator/slurm.h"
#include "moe/errors.h"

namespace moe {
namespace {

struct Setting {
  const char* variable;
  const char* value;
};
/// Where nobody has said how many ranks a host takes, people first try more ranks than cores. These
/// are variables, because they leave a cluster's own settings alone and other MPIs ignore them. The
/// second one is that of Open MPI 5, as below.
constexpr std::array kOversubscribe = {
    Setting{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    Setting{"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
};
/// mpirun would bind each of two ranks, with all of its threads, to one core. In an allocation ranks
/// stay on the cores that it has, which bind mpirun's daemons.
constexpr std::array kUnbound = {
    Setting{"OMPI_MCA_hwloc_base_binding_policy", "none"},
    Setting{"PRTE_MCA_hwloc_default_binding_policy", "none"},
};

/// What the libraries of a device read when they start. Calls of NCCL are issued in one order
/// (issue_order.h), and the first setting makes kernels of different communicators start in that
/// order and overlap. Kernels that are loaded at their first use may wait for all that runs on the
/// device, even for kernels of NCCL that wait for other ranks, and make the first iteration slow.
constexpr std::array kDeviceSettings = {
    Setting{"NCCL_LAUNCH_ORDER_IMPLICIT", "1"},
    Setting{"CUDA_MODULE_LOADING", "EAGER"},
};

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access(folder.append("/").append(program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void set_unless_set(const auto& settings) {
  for (const Setting& setting : settings) setenv(setting.variable, setting.value, 0);
}

void prepare_mpirun(int ranks, const std::string& hostfile) {
  if (!in_path("mpirun")) {
    throw InputError(
        fmt::format("--ranks {} needs mpirun, which is not in PATH: install the package "
                    "openmpi-bin (Debian, Ubuntu) or load your cluster's MPI module",
                    ranks));
  }
  if (!hostfile.empty() && access(hostfile.c_str(), R_OK) != 0) {
    throw InputError(fmt::format("--hostfile {}: expected a file that can be read", hostfile));
  }
  if (hostfile.empty() && !inside_allocation()) set_unless_set(kOversubscribe);
  set_unless_set(kUnbound);
}

[[noreturn]] void start_ranks(int ranks, char** argv, double time_limit_s, const EndedRanks& ended,
                              const std::string& input, const db::options::Launcher& launcher) {
  const bool mpirun = launcher.command.empty();
  if (mpirun) prepare_mpirun(ranks, launcher.hostfile);
  constexpr int keep = 0;
  // mpirun gives its ranks a terminal of their own, so whether ours is one is decided here.
  if (isatty(STDOUT_FILENO) == 0) setenv("NO_COLOR", "1", keep);
  if (geteuid() == 0) {  // containers
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", keep);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", keep);
  }
  leave_mpi_job();
  run_mpirun(launch_command(ranks, launcher, argv), time_limit_s, ended, kLaunchLimit_s, input,
             mpirun ? "mpirun" : launcher.command);
}

}  // namespace

std::vector<std::string> launch_command(int ranks, const db::options::Launcher& launcher,
                                        char** argv) {
  std::vector<std::string> command{"mpirun", "-np", std::to_string(ranks)};
  if (!launcher.hostfile.empty()) {
    command.insert(command.end(), {"--hostfile", launcher.hostfile});
  }
  if (!launcher.command.empty()) {
    constexpr std::string_view number = "{ranks}";
    std::string text = launcher.command;
    for (std::size_t at = 0; (at = text.find(number, at)) != std::string::npos;) {
      text.replace(at, number.size(), std::to_string(ranks));
    }
    // A shell knows quotes and variables; it makes room for the launcher, which gets the signals.
    command = {"/bin/sh", "-c", fmt::format("exec {} \"$@\"", text), "sh"};
  }
  for (char** argument = argv; *argument != nullptr; ++argument) command.push_back(*argument);
  return command;
}

std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s, const EndedRanks& ended,
                                         const std::string& input,
                                         const db::options::Launcher& launcher) {
  if (ranks && *ranks < 1) throw InputError(fmt::format("--ranks {}: at least 1 expected", *ranks));
  for (const Setting& setting : kDeviceSettings) setenv(setting.variable, setting.value, 0);
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
    throw InputError(fmt::format("{}: expected --ranks beside it",
                                 launcher.command.empty() ? "--hostfile" : "--launcher"));
  }
  if (!has_mpi()) throw Unavailable(fmt::format("--ranks {}: built without MPI", *ranks));
  start_ranks(*ranks, argv, start_limit_s, ended, input, launcher);
}

bool starts_ranks(std::optional<int> ranks, const db::options::Launcher& launcher) {
  return ranks.value_or(1) > 1 || !launcher.command.empty() || !launcher.hostfile.empty();
}

}  // namespace moe
