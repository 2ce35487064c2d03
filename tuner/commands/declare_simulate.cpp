#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_simulate(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command = app.add_subcommand("simulate", "predict one iteration under a schedule");
  add_scenario(*command, arguments,
               "the database that --cluster measured reads; with another cluster, the predicted "
               "timeline is stored in it");
  CLI::Option* schedule =
      command->add_option("--schedule", arguments.schedule, "a JSON file with the schedule")
          ->type_name("FILE");
  command
      ->add_option("--planner", arguments.planner,
                   "the planner that makes the schedule, as tutel:degree=4")
      ->excludes(schedule)
      ->type_name("PLANNER");
  add_most_chunks(*command, arguments.most_chunks);
  command
      ->add_option(
          "--trace", arguments.trace,
          "write a Chrome trace, which Perfetto opens; - is stdout, which has nothing else "
          "then")
      ->type_name("FILE")
      ->group("Output");
  CLI::Option* timeline =
      command
          ->add_flag("--timeline", arguments.timeline, "print the timeline instead of the summary")
          ->group("Output");
  CLI::Option* breakdown =
      command
          ->add_flag("--breakdown", arguments.breakdown,
                     "print the time of each kind of op in each layer instead of the summary")
          ->excludes(timeline)
          ->group("Output");
  command
      ->add_flag("--memory", arguments.memory,
                 "print how much memory each rank holds over time instead of the summary")
      ->excludes(timeline)
      ->excludes(breakdown)
      ->group("Output");
  command->add_flag("--fits", arguments.fits, "say on stderr which fits the prediction rests on")
      ->group("Output");
  db::options::add_output(*command, arguments.output);
  db::options::set_footer(*command,
                          "moe-tune simulate --model box-small --cluster box --planner pipemoe \\\n"
                          "  --trace trace.json");
  command->callback([&] {
    if (arguments.schedule.empty() && arguments.planner.empty()) {
      throw CLI::RequiredError("--schedule or --planner");
    }
    action = [&](int argc, char** argv) { return simulate_schedule(arguments, argc, argv); };
  });
}

}  // namespace tuner
