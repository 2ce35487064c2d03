#include "tuner/commands/declare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "moe/rows/layout.h"
#include "tuner/scenario/scenario.h"

namespace tuner {

namespace options = db::options;

void add_model(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--model", arguments.scenario.model,
                  "the model: a name in experiments/models, a TOML file, or a config.json of the "
                  "library transformers")
      ->required()
      ->type_name("NAME|FILE")
      ->group("Scenario");
  options::add_settings(command, arguments.scenario.settings,
                        "another value for a key of the model, as in moe.experts=64; may come "
                        "several times");
  command.get_option("--set")->group("Scenario");
}

void add_layout(CLI::App& command, Arguments& arguments, const std::string& usual) {
  const std::string help = moe::kLayoutHelp;
  command
      .add_option("--layout", arguments.scenario.layout,
                  fmt::format("{} [default: {}]", help.substr(0, help.find(" [default")), usual))
      ->type_name("LAYOUT")
      ->group("Scenario");
}

void add_most_chunks(CLI::App& command, int& most_chunks) {
  command
      .add_option(
          "--most-chunks", most_chunks,
          "the largest number of chunks of a layer, and of parts of the batch, that planners try")
      ->check(options::whole_number(1, 64))
      ->capture_default_str()
      ->type_name("N");
}

void add_model_on_cluster(CLI::App& command, Arguments& arguments, const std::string& database) {
  add_model(command, arguments);
  command.get_option("--set")->description(
      "another value for a key of the model, as in moe.experts=64, or of the cluster, as in "
      "cluster.nodes=4; may come several times");
  command
      .add_option("--cluster", arguments.scenario.cluster,
                  "the cluster: a name in experiments/clusters, a TOML file, or measured, which "
                  "takes what --db holds; measured:TEXT takes, of several machines or networks, "
                  "the one with TEXT in its name")
      ->required()
      ->type_name("NAME|FILE")
      ->group("Scenario");
  options::add_database(command, arguments.scenario.database, database);
  command.get_option("--db")->group("Scenario");
  command
      .add_option("--routing", arguments.scenario.routing,
                  "how tokens spread over experts: uniform, zipf:EXPONENT, a JSON file, as moe-db "
                  "export routing writes it or a list of counts for each layer, or several "
                  "iterations: a folder of such files, or drift:EXPONENT:SHARE:ITERATIONS")
      ->capture_default_str()
      ->type_name("ROUTING")
      ->group("Scenario");
}

void add_scenario(CLI::App& command, Arguments& arguments, const std::string& database,
                  const std::string& usual_layout) {
  add_model_on_cluster(command, arguments, database);
  command
      .add_option("--ranks", arguments.scenario.ranks,
                  "how many ranks train [default: all of the cluster]")
      ->check(options::whole_number(1, kMostPredictedRanks))
      ->type_name("N")
      ->group("Scenario");
  add_layout(command, arguments, usual_layout);
}

void add_given(CLI::App& command, std::vector<std::string>& given, const std::string& what) {
  command
      .add_option("--given", given,
                  "a JSON file with a schedule whose decisions are kept: " + what +
                      "; may come several times")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

}  // namespace tuner
