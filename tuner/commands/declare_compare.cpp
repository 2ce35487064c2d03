#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_compare(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command = app.add_subcommand("compare", "predict what each planner makes of a model");
  add_scenario(*command, arguments, "the database that --cluster measured reads",
               "the fastest that a search finds");
  command->get_option("--set")->description(
      "other values for a key of the model, as in moe.experts=8,16, or of the cluster, as in "
      "cluster.nodes=4,8; may come several times: there is a row for each combination of values");
  command->add_option("--planners", arguments.planners, "the planners, with commas between them")
      ->capture_default_str()
      ->type_name("PLANNERS");
  CLI::Option* candidates =
      command->add_flag("--candidates", arguments.candidates,
                        "print a row for each candidate of a planner, not only for its choice");
  CLI::Option* plan_every =
      command
          ->add_option("--plan-every", arguments.plan_every,
                       "of several iterations of --routing, plan from the first and from every Nth "
                       "after it, each plan for the iterations that follow; figures are those of "
                       "the median iteration [default: one plan, from all]")
          ->check(db::options::whole_number(1, 1000))
          ->excludes(candidates)
          ->type_name("N");
  command
      ->add_option("--history", arguments.history,
                   "by how many iterations planners judge a plan: the one that it is made from and "
                   "those before it; the first plan is made from the Kth iteration")
      ->check(db::options::whole_number(1, 1000))
      ->needs(plan_every)
      ->capture_default_str()
      ->type_name("K");
  add_given(*command, arguments.given, "each planner also goes on from it");
  add_most_chunks(*command, arguments.most_chunks);
  db::options::add_output(*command, arguments.output);
  db::options::set_footer(
      *command,
      "moe-tune compare --model box-small --cluster measured --db results.db \\\n"
      "  --planners sequential,tutel:4,pipemoe\n"
      "moe-tune compare --model box-small --cluster box --planners tutel,fsmoe \\\n"
      "  --ranks 4 --set moe.experts=8,16,32 --set training.global_batch=64,128\n"
      "moe-tune compare --model moe-gpt-s --cluster hpwnv --ranks 16 \\\n"
      "  --routing drift:1.2:0.05:8 --plan-every 1 --planners fastermoe,pro_prophet");
  command->callback([&] { action = [&](int, char**) { return compare(arguments); }; });
}

}  // namespace tuner
