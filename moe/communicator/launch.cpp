#include "moe/communicator/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "moe/communicator/mpirun.h"
#include "moe/errors.h"

namespace moe {
namespace {

constexpr std::array kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                       "MV2_COMM_WORLD_RANK"};
constexpr std::array kSizeVariables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};

struct Setting {
  const char* variable;
  const char* value;
};
/// People first try more ranks than cores; containers run as root; and users who bind cores know
/// how. These are variables, because they leave a cluster's own settings alone and other MPIs
/// ignore them. The last two are those of Open MPI 5.
constexpr std::array kSettings = {
    Setting{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    Setting{"OMPI_MCA_hwloc_base_binding_policy", "none"},
    Setting{"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
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

[[noreturn]] void start_ranks(int ranks, char** argv, double time_limit_s, const EndedRanks& ended,
                              const std::string& input) {
  if (!in_path("mpirun")) {
    throw InputError(
        fmt::format("--ranks {} needs mpirun, which is not in PATH: install the package "
                    "openmpi-bin (Debian, Ubuntu) or load your cluster's MPI module",
                    ranks));
  }
  constexpr int keep = 0;
  for (const Setting& setting : kSettings) setenv(setting.variable, setting.value, keep);
  // mpirun gives its ranks a terminal of their own, so whether ours is one is decided here.
  if (isatty(STDOUT_FILENO) == 0) setenv("NO_COLOR", "1", keep);
  if (geteuid() == 0) {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", keep);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", keep);
  }
  run_mpirun(mpirun_command(ranks, argv), time_limit_s, ended, kLaunchLimit_s, input);
}

}  // namespace

bool inside_mpi_job() {
  for (const char* variable : kRankVariables) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

std::optional<int> mpi_job_rank() {
  for (const char* variable : kRankVariables) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return std::nullopt;
}

std::optional<int> mpi_job_size() {
  if (!inside_mpi_job()) return std::nullopt;
  for (const char* variable : kSizeVariables) {
    if (const char* value = std::getenv(variable)) {
      const int size = std::atoi(value);
      if (size > 0) return size;
    }
  }
  return std::nullopt;
}

std::vector<std::string> mpirun_command(int ranks, char** argv) {
  std::vector<std::string> command{"mpirun", "-np", std::to_string(ranks)};
  for (char** argument = argv; *argument != nullptr; ++argument) command.push_back(*argument);
  return command;
}

std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s, const EndedRanks& ended,
                                         const std::string& input) {
  if (ranks && *ranks < 1) throw InputError(fmt::format("--ranks {}: at least 1 expected", *ranks));
  for (const Setting& setting : kDeviceSettings) setenv(setting.variable, setting.value, 0);
  const auto check = [&](int size) {
    if (ranks && size != *ranks) {
      throw InputError(
          fmt::format("--ranks {}, but this MPI job has {} rank{}: leave --ranks out or make them "
                      "agree",
                      *ranks, size, size == 1 ? "" : "s"));
    }
  };
  if (inside_mpi_job()) {
    if (const auto size = mpi_job_size()) check(*size);
    auto world = make_mpi_world(start_limit_s);
    check(world->size);
    return world;
  }
  if (!ranks || *ranks == 1) return make_solo_communicator();
  if (!has_mpi()) throw Unavailable(fmt::format("--ranks {}: built without MPI", *ranks));
  start_ranks(*ranks, argv, start_limit_s, ended, input);
}

}  // namespace moe
