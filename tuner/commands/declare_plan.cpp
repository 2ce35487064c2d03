#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_plan(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command =
      app.add_subcommand("plan", "print the schedule that a planner makes, as JSON");
  add_scenario(*command, arguments, "the database that --cluster measured reads");
  command
      ->add_option("--planner", arguments.planner,
                   "the planner, with options as NAME:KEY=VALUE, e.g. tutel:degree=4")
      ->required()
      ->type_name("PLANNER");
  command
      ->add_option("--given", arguments.given,
                   "a JSON file with a schedule whose decisions are kept: the planner goes on from "
                   "them")
      ->expected(1)
      ->type_name("FILE");
  add_most_chunks(*command, arguments.most_chunks);
  command->add_option("-o,--output", arguments.schedule_file, "the file to write; - is stdout")
      ->capture_default_str()
      ->type_name("FILE");
  db::options::set_footer(*command,
                          "moe-tune plan --model box-small --cluster box --planner tutel:4 \\\n"
                          "  -o schedule.json");
  command->callback([&] { action = [&](int, char**) { return plan(arguments); }; });
}

}  // namespace tuner
