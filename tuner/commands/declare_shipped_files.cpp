#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_shipped_files(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* clusters_command = app.add_subcommand(
      "clusters", "print the clusters that --cluster can name, with their shape and links");
  CLI::App* models_command =
      app.add_subcommand("models", "print the models that --model can name, with their sizes");
  for (CLI::App* command : {clusters_command, models_command}) {
    db::options::add_output(*command, arguments.output);
  }
  db::options::set_footer(*clusters_command, "moe-tune clusters --format csv");
  db::options::set_footer(*models_command, "moe-tune models --format csv");
  clusters_command->callback([&] { action = [&](int, char**) { return clusters(arguments); }; });
  models_command->callback([&] { action = [&](int, char**) { return models(arguments); }; });
}

}  // namespace tuner
