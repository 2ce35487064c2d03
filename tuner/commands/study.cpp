#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>
#include <vector>

#include "db/listings.h"
#include "moe/communicator/mpi_job.h"
#include "moe/errors.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/study_layouts.h"
#include "tuner/commands/study_sweep.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/sweep.h"

namespace tuner {
namespace {

/// The trials of the study, the fastest first.
void print_trials(const Arguments& arguments) {
  const StudyOptions& options = arguments.study;
  const db::Listing trials{
      .view = "trial_view",
      .table_columns =
          "planner, parameters, predicted_s, measured_s, tied_with, "
          "prediction_error, speedup, measured_peak_bytes",
      .order = "measured_s NULLS LAST, predicted_s NULLS LAST, trial",
      .filters = {{"--study", "study", ""}},
      .rare = {{"failure", "status, failure"},
               {"least_speedup", "least_speedup, most_speedup"},
               {"first_predicted_s", "first_predicted_s"},
               {"also_planned_by", "also_planned_by"},
               {"changes_results",
                "changes_results, last_loss, sequential_last_loss, loss_difference"}}};
  db::write_listing(stdout, style_of(arguments), db::open_reader(options.job.database), trials,
                    {{"--study", options.name}}, 0);
}

int ranks_of_study(const Arguments& arguments) {
  const std::string& hostfile = arguments.study.job.launcher.hostfile;
  const db::options::InProcess& in_process = arguments.study.job.in_process;
  const auto ranks =
      moe::ranks_of(arguments.scenario.ranks, hostfile, in_process, arguments.study.job.device);
  if (ranks || hostfile.empty()) return ranks.value_or(1);
  throw moe::InputError(
      fmt::format("--hostfile {}: expected slots=N on every line, or --ranks", hostfile));
}

}  // namespace

int study(Arguments& arguments, int argc, char** argv) {
  StudyOptions& options = arguments.study;
  const auto path =
      moe::find_input(arguments.scenario.model, moe::source_tree() / "experiments" / "models");
  options.job.model = path.string();
  options.job.program = find_moe_train();
  options.job.database = arguments.scenario.database;
  options.job.ranks = ranks_of_study(arguments);
  options.job.layout = arguments.scenario.layout;
  options.planners = parse_planners(arguments.study_planners);
  options.argv.assign(argv, argv + argc);
  options.say = [](const std::string& text) { spdlog::info(text); };
  if (const std::string network = options.job.network(); !network.empty()) {
    spdlog::info("network: {}", network);
  }
  moe::stop_when_asked();
  const std::vector<SweptKey> keys = parse_sweep(arguments.scenario.settings);
  const std::vector<std::vector<std::string>> all = combinations(keys);
  const bool several = !arguments.study_layouts.empty();
  if (all.size() > 1) {
    if (several) {
      throw moe::InputError(fmt::format("--layouts {}: expected one value of each key, or --layout",
                                        arguments.study_layouts));
    }
    return sweep_studies(keys, all, arguments);
  }
  set_model(options, all.front());
  if (several) return study_layouts(arguments, studies_of_layouts(arguments, options));
  choose_layout(arguments, options);
  const StudyEnd end = run_study(options);
  if (options.dry_run) {
    print_plans({}, {{{}, options, "", end}}, arguments);
    return 0;
  }
  print_trials(arguments);
  if (end.failure.empty()) return 0;
  spdlog::error("study \"{}\": {}", options.name, end.failure);
  return 1;
}

}  // namespace tuner
