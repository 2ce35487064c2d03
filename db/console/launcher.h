#pragma once

#include <string>

namespace CLI {
class App;
}

namespace db::options {

/// The values of `--launcher` and `--hostfile`: how a program starts its ranks. Both are for the
/// process that starts them; ranks, which have the same command line, take no notice of them. A
/// program that starts another one hands them on as they are, the words of each as one argument:
/// "--launcher", command, "--hostfile", hostfile, where they are not empty.
struct Launcher {
  std::string command{};   ///< "srun --mpi=pmix -n {ranks}", for a shell; empty: mpirun
  std::string hostfile{};  ///< mpirun's; empty: the hosts that mpirun finds by itself
};

/// Adds `--launcher` and `--hostfile`, of which there may be one, to a group of the help.
void add_launcher(CLI::App& app, Launcher& launcher, const std::string& group);

}  // namespace db::options
