#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_fit(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command =
      app.add_subcommand("fit", "fit lines t = alpha + beta n to the measurements in a database");
  db::options::add_database(*command, arguments.scenario.database,
                            "the database with the measurements; the fits are stored in it");
  command->get_option("--db")->required();
  db::options::add_output(*command, arguments.output);
  db::options::set_footer(*command, "moe-tune fit --db results.db --format csv");
  command->callback(
      [&] { action = [&](int argc, char** argv) { return fit(arguments, argc, argv); }; });
}

}  // namespace tuner
