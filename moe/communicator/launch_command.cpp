#include "moe/communicator/launch_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "moe/child.h"
#include "moe/communicator/slurm.h"
#include "moe/errors.h"

namespace moe {
namespace {

/// Where nobody has said how many ranks a host takes, people first try more ranks than cores. These
/// are variables, because they leave a cluster's own settings alone and other MPIs ignore them. The
/// second one is that of Open MPI 5, as below.
constexpr std::array kOversubscribe = {
    DefaultVariable{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    DefaultVariable{"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
};
/// mpirun would bind each of two ranks, with all of its threads, to one core. In an allocation ranks
/// stay on the cores that it has, which bind mpirun's daemons.
constexpr std::array kUnbound = {
    DefaultVariable{"OMPI_MCA_hwloc_base_binding_policy", "none"},
    DefaultVariable{"PRTE_MCA_hwloc_default_binding_policy", "none"},
};

/// Containers run as root.
constexpr std::array kAsRoot = {
    DefaultVariable{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    DefaultVariable{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
};

/// The path of a program that a shell finds in PATH; "" where it finds none.
std::string path_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(program);
    if (access(folder.c_str(), X_OK) == 0) return std::filesystem::absolute(folder).string();
  }
  return "";
}

/// Other hosts have the program at the same path, and mostly another PATH.
std::string same_everywhere(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string path = path_in_path(program);
  return path.empty() ? program : path;
}

/// `text`: for a shell, which reads it here and starts nothing.
void expect_whole_command(const std::string& text, const std::string& launcher) {
  constexpr double kRead_s = 10;
  if (run_child({"/bin/sh", "-n", "-c", text}, kRead_s, {}).code == 0) return;
  throw InputError(fmt::format(
      "--launcher {}: expected one command as a shell reads it, with every quote closed",
      launcher));
}

/// A shell knows quotes and variables; it makes room for the launcher, which gets the signals.
std::string shell_text(const std::string& launcher) {
  return fmt::format("exec {} \"$@\"", launcher);
}

void prepare_mpirun(int ranks, const std::string& hostfile) {
  if (path_in_path("mpirun").empty()) {
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

}  // namespace

void set_unless_set(std::span<const DefaultVariable> variables) {
  constexpr int kKeep = 0;
  for (const DefaultVariable& one : variables) setenv(one.name, one.value, kKeep);
}

void prepare_launch(int ranks, const db::options::Launcher& launcher) {
  if (launcher.command.empty()) {
    prepare_mpirun(ranks, launcher.hostfile);
  } else {
    expect_whole_command(shell_text(launcher.command), launcher.command);
  }
  if (geteuid() == 0) set_unless_set(kAsRoot);
}

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
    command = {"/bin/sh", "-c", shell_text(text), "sh"};
  }
  command.push_back(same_everywhere(argv[0]));
  for (char** argument = argv + 1; *argument != nullptr; ++argument) command.push_back(*argument);
  return command;
}

bool starts_ranks(std::optional<int> ranks, const db::options::Launcher& launcher) {
  return ranks.value_or(1) > 1 || !launcher.command.empty() || !launcher.hostfile.empty();
}

}  // namespace moe
