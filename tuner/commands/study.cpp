#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <vector>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/network.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/planners.h"

namespace tuner {
namespace {

/// Fastest measured first, then fastest predicted.
std::vector<db::Trial> sorted_trials(const db::Connection& connection, std::int64_t study_id) {
  auto trials = db::load_trials(connection, study_id);
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    const auto key = [](const db::Trial& t) {
      return std::pair(t.measured_s.value_or(1e300), t.predicted_s.value_or(1e300));
    };
    return key(a) < key(b);
  });
  return trials;
}

void print_trials(const db::Connection& connection, std::int64_t study_id,
                  const Arguments& arguments) {
  const auto trials = sorted_trials(connection, study_id);
  const std::map<std::int64_t, db::TrialFigures> figures = db::load_trial_figures(connection);
  const bool shows_losses =
      shows_column(arguments, std::ranges::any_of(trials, [&](const db::Trial& trial) {
                     return !figures.at(trial.id).changes_results.empty();
                   }));
  std::vector<std::string> columns{"planner",
                                   "parameters",
                                   "status",
                                   "paper_s",
                                   "predicted_s",
                                   "predicted_deviation_s",
                                   "measured_s",
                                   "tied_with",
                                   "prediction_error",
                                   "own_prediction_error",
                                   "lower_bound_s",
                                   "speedup",
                                   "predicted_peak_bytes",
                                   "measured_peak_bytes"};
  const bool shows_others =
      shows_column(arguments, std::ranges::any_of(trials, [](const db::Trial& trial) {
                     return !trial.also_planned_by.empty();
                   }));
  const bool shows_first =
      shows_column(arguments, std::ranges::any_of(trials, [](const db::Trial& trial) {
                     return trial.first_predicted_s.has_value();
                   }));
  if (shows_first) columns.insert(std::ranges::find(columns, "predicted_s"), "first_predicted_s");
  const bool shows_baseline =
      shows_column(arguments, std::ranges::any_of(trials, [&](const db::Trial& trial) {
                     const std::string& against = figures.at(trial.id).speedup_against;
                     return !against.empty() && against != db::kSequential;
                   }));
  if (shows_baseline) columns.emplace_back("speedup_against");
  if (shows_others) columns.emplace_back("also_planned_by");
  if (shows_losses) {
    columns.insert(columns.end(),
                   {"changes_results", "last_loss", "sequential_last_loss", "loss_difference"});
  }
  const auto optional = [](const auto& value) { return value ? db::Cell(*value) : db::Cell(); };
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const db::Trial& trial : trials) {
    const std::optional<double> first_s =
        trial.first_predicted_s ? trial.first_predicted_s : trial.predicted_s;
    const db::TrialFigures& of_trial = figures.at(trial.id);
    std::vector<db::Cell> row{
        trial.planner,
        trial.parameters_json,
        trial.status,
        optional(trial.paper_s),
        optional(trial.predicted_s),
        optional(trial.predicted_deviation_s),
        optional(trial.measured_s),
        text_cell(of_trial.tied_with),
        trial.measured_s && first_s ? db::Cell(*first_s / *trial.measured_s - 1) : db::Cell(),
        optional(of_trial.own_prediction_error),
        optional(trial.lower_bound_s),
        optional(of_trial.speedup),
        optional(trial.predicted_peak_bytes),
        optional(trial.measured_peak_bytes)};
    if (shows_first) row.insert(row.begin() + 4, optional(trial.first_predicted_s));
    if (shows_baseline) row.push_back(text_cell(of_trial.speedup_against));
    if (shows_others) {
      row.push_back(text_cell(trial.also_planned_by));
    }
    if (shows_losses) {
      row.insert(row.end(),
                 {text_cell(of_trial.changes_results), optional(of_trial.last_loss),
                  optional(of_trial.sequential_last_loss), optional(of_trial.loss_difference)});
    }
    writer.row(row);
  }
  writer.finish();
}

}  // namespace

int study(Arguments& arguments, int argc, char** argv) {
  StudyOptions& options = arguments.study;
  const auto path =
      moe::find_input(arguments.scenario.model, moe::source_tree() / "experiments" / "models");
  options.model = moe::load_model(path);
  if (options.job.seed) options.model.seed = *options.job.seed;
  options.job.model = path.string();
  options.job.program = find_moe_train();
  options.job.database = arguments.scenario.database;
  options.job.ranks = arguments.scenario.ranks.value_or(1);
  options.job.layout = arguments.scenario.layout;
  options.memory_limit_bytes = options.job.memory_limit_bytes;
  options.planners = parse_planners(arguments.planners);
  options.argv.assign(argv, argv + argc);
  if (arguments.top == "all") {
    options.top = kTopAll;
  } else if (arguments.top == "each") {
    options.top = kTopOfEachPlanner;
  } else {
    options.top = std::stoi(arguments.top);
  }
  options.say = [](const std::string& text) { spdlog::info(text); };
  if (const std::string network = db::this_network(); !network.empty()) {
    spdlog::info("network: {}", network);
  }
  moe::stop_when_asked();
  const std::int64_t id = run_study(options);

  print_trials(db::open_reader(options.job.database), id, arguments);
  return 0;
}

}  // namespace tuner
