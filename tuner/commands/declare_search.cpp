#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {

void declare_search(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command = app.add_subcommand(
      "search", "find the layout, micro-batches and schedule that train a model fastest");
  add_model_on_cluster(*command, arguments,
                       "where what is found is stored, and what --cluster measured reads");
  command->get_option("--set")->description(
      "other values for a key of the model, as in training.precision=f32,bf16, or of the cluster, "
      "as in cluster.nodes=4,8; may come several times: of several combinations of values each has "
      "its best row");
  command
      ->add_option("--ranks", arguments.ranks,
                   "how many ranks train; of several numbers, as in 8,16,32, each has its best row "
                   "[default: all of the cluster]")
      ->type_name("N,...")
      ->group("Scenario");
  command
      ->add_option("--layouts", arguments.layouts,
                   "the layouts to try: usual (tp and esp within a node), all, or those whose "
                   "degrees are in ranges, as in tp=1..8,ep=4")
      ->capture_default_str()
      ->type_name("RANGES")
      ->group("Space");
  command
      ->add_option("--micro-batches", arguments.micro_batches,
                   "the numbers of micro-batches to try: all that divide the batch, or a list")
      ->capture_default_str()
      ->type_name("N,...")
      ->group("Space");
  command
      ->add_option(
          "--orders", arguments.orders,
          "the orders of micro-batches to try: usual (sequential, one_f_one_b, two_batch), "
          "all, or some of the planners of orders")
      ->capture_default_str()
      ->type_name("ORDERS")
      ->group("Space");
  command
      ->add_option("--planners", arguments.search_planners,
                   "the planners that plan the best setups, with commas between them, or none")
      ->capture_default_str()
      ->type_name("PLANNERS")
      ->group("Space");
  command
      ->add_option("--memory-limit", arguments.memory_bytes,
                   "memory of a rank, as in 80G [default: what the cluster says]")
      ->transform(db::options::size_in_bytes())
      ->type_name("SIZE")
      ->group("Space");
  command
      ->add_option("--top", arguments.top,
                   "how many setups are planned and printed: half of them the fastest, the others "
                   "the fastest of other tp and pp")
      ->check(db::options::whole_number(1, 1000))
      ->capture_default_str()
      ->type_name("K")
      ->group("Space");
  add_most_chunks(*command, arguments.most_chunks);
  command
      ->add_option(
          "-o,--output", arguments.best_file,
          "write the best schedule as JSON, for moe-train --schedule; - is stdout, which then has "
          "no table")
      ->type_name("FILE")
      ->group("Output");
  db::options::add_output(*command, arguments.output);
  db::options::set_footer(
      *command,
      "moe-tune search --model mixtral-7b --cluster fsmoe-testbed-a -o best.json\n"
      "moe-tune search --model deepseek-v3 --cluster dgx-h100 --set cluster.nodes=32 \\\n"
      "  --set training.precision=bf16 --layouts tp=1..8,pp=4..16 --planners none\n"
      "moe-tune search --model mixtral-8x7b --cluster dgx-h100 --ranks 16,32,64");
  command->callback(
      [&] { action = [&](int argc, char** argv) { return search(arguments, argc, argv); }; });
}

}  // namespace tuner
