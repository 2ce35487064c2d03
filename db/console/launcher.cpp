#include "db/console/launcher.h"

#include <CLI/CLI.hpp>

#include "db/console/options.h"

namespace db::options {

void add_launcher(CLI::App& app, Launcher& launcher, const std::string& group) {
  auto* command = app.add_option("--launcher", launcher.command,
                                 "what starts the ranks, with {ranks} where their number belongs, "
                                 "as in \"srun --mpi=pmix -n {ranks}\": one command; \"env A=b "
                                 "...\" for variables [default: mpirun]")
                      ->check(not_empty())
                      ->type_name("COMMAND")
                      ->group(group);
  app.add_option("--hostfile", launcher.hostfile,
                 "where mpirun starts the ranks: a file with a line for each host, as in node1 "
                 "slots=1 [default: the allocation, or this host]")
      ->check(not_empty())
      ->excludes(command)
      ->type_name("FILE")
      ->group(group);
}

}  // namespace db::options
