#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/network.h"
#include "moe/communicator/mpi_job.h"
#include "moe/errors.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/study_sweep.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/sweep.h"

namespace tuner {
namespace {

/// Fastest measured first, then fastest predicted.
std::vector<db::Trial> sorted_trials(const db::Connection& connection, std::int64_t study_id) {
  auto trials = db::load_trials(connection, study_id);
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    const auto key = [](const db::Trial& t) {
      const std::optional<double>& measured_s = t.comparable_s ? t.comparable_s : t.measured_s;
      return std::pair(measured_s.value_or(1e300), t.predicted_s.value_or(1e300));
    };
    return key(a) < key(b);
  });
  return trials;
}

/// When a column stands in a table for a person. CSV and JSON have all columns, always.
enum class Shown : std::uint8_t { always, where_told, never };

/// The figures of a trial beside others, and how long a rank's communications took.
struct RowFigures : db::TrialFigures {
  std::optional<db::TrialCommunication> communication;
};

/// A column of the trials' table.
struct TrialColumn {
  std::string name;
  Shown shown = Shown::always;
  db::Cell (*cell)(const db::Trial&, const RowFigures&) = nullptr;
  /// Whether the cell tells something, for Shown::where_told.
  bool (*tells)(const db::Trial&, const RowFigures&) = nullptr;
};

db::Cell error_of_first_prediction(const db::Trial& trial) {
  const auto& first_s = trial.first_predicted_s ? trial.first_predicted_s : trial.predicted_s;
  return trial.measured_s && first_s ? db::Cell(*first_s / *trial.measured_s - 1) : db::Cell();
}

const std::vector<TrialColumn>& trial_columns() {
  using T = const db::Trial&;
  using F = const RowFigures&;
  const auto changes_results = [](T, F f) { return !f.changes_results.empty(); };
  const auto paces_differ = [](T, F f) { return !f.pace.empty(); };
  const auto communicates = [](T, F f) { return f.communication.has_value(); };
  static const std::vector<TrialColumn> columns{
      {"planner", Shown::always, [](T t, F) -> db::Cell { return t.planner; }},
      {"parameters", Shown::always, [](T t, F) -> db::Cell { return t.parameters_json; }},
      {"status", Shown::where_told, [](T t, F) -> db::Cell { return t.status; },
       [](T t, F) { return t.status != "done" && t.status != "planned"; }},
      {"failure", Shown::where_told, [](T t, F) { return db::text_cell(t.failure); },
       [](T t, F) { return is_no_verdict(t.failure); }},
      {"paper_s", Shown::never, [](T t, F) { return db::optional_cell(t.paper_s); }},
      {"first_predicted_s", Shown::where_told,
       [](T t, F) { return db::optional_cell(t.first_predicted_s); },
       [](T t, F) { return t.first_predicted_s.has_value(); }},
      {"predicted_s", Shown::always, [](T t, F) { return db::optional_cell(t.predicted_s); }},
      {"predicted_deviation_s", Shown::never,
       [](T t, F) { return db::optional_cell(t.predicted_deviation_s); }},
      {"measured_s", Shown::always, [](T t, F) { return db::optional_cell(t.measured_s); }},
      {"tied_with", Shown::always, [](T, F f) { return db::text_cell(f.tied_with); }},
      {"prediction_error", Shown::always, [](T t, F) { return error_of_first_prediction(t); }},
      {"own_prediction_error", Shown::never,
       [](T, F f) { return db::optional_cell(f.own_prediction_error); }},
      {"lower_bound_s", Shown::never, [](T t, F) { return db::optional_cell(t.lower_bound_s); }},
      {"bounded_by", Shown::never, [](T t, F) { return db::text_cell(t.bounded_by); }},
      {"slowed_lower_bound_s", Shown::never,
       [](T t, F) { return db::optional_cell(t.slowed_lower_bound_s); }},
      {"speedup", Shown::always, [](T, F f) { return db::optional_cell(f.speedup); }},
      {"equal_speedup", Shown::where_told,
       [](T, F f) { return db::optional_cell(f.equal_speedup); }, paces_differ},
      {"pace", Shown::where_told, [](T, F f) { return db::text_cell(f.pace); }, paces_differ},
      {"waiting_s", Shown::where_told,
       [](T, F f) { return f.communication ? db::Cell(f.communication->waiting_s) : db::Cell(); },
       communicates},
      {"transfer_s", Shown::where_told,
       [](T, F f) { return f.communication ? db::Cell(f.communication->transfer_s) : db::Cell(); },
       communicates},
      {"predicted_peak_bytes", Shown::never,
       [](T t, F) { return db::optional_cell(t.predicted_peak_bytes); }},
      {"measured_peak_bytes", Shown::always,
       [](T t, F) { return db::optional_cell(t.measured_peak_bytes); }},
      {"speedup_against", Shown::where_told,
       [](T, F f) { return db::text_cell(f.speedup_against); },
       [](T, F f) { return !f.speedup_against.empty() && f.speedup_against != db::kSequential; }},
      {"also_planned_by", Shown::where_told,
       [](T t, F) { return db::text_cell(t.also_planned_by); },
       [](T t, F) { return !t.also_planned_by.empty(); }},
      {"changes_results", Shown::where_told,
       [](T, F f) { return db::text_cell(f.changes_results); }, changes_results},
      {"last_loss", Shown::where_told, [](T, F f) { return db::optional_cell(f.last_loss); },
       changes_results},
      {"sequential_last_loss", Shown::where_told,
       [](T, F f) { return db::optional_cell(f.sequential_last_loss); }, changes_results},
      {"loss_difference", Shown::where_told,
       [](T, F f) { return db::optional_cell(f.loss_difference); }, changes_results},
  };
  return columns;
}

/// By trial.
std::map<std::int64_t, RowFigures> row_figures(const db::Connection& connection,
                                               std::int64_t study_id) {
  std::map<std::int64_t, RowFigures> rows;
  for (const auto& [trial, figures] : db::load_trial_figures(connection)) {
    rows[trial] = RowFigures{figures, std::nullopt};
  }
  for (const auto& [trial, communication] : db::load_trial_communication(connection, study_id)) {
    rows[trial].communication = communication;
  }
  return rows;
}

void print_trials(const db::Connection& connection, std::int64_t study_id,
                  const Arguments& arguments) {
  const std::vector<db::Trial> trials = sorted_trials(connection, study_id);
  const std::map<std::int64_t, RowFigures> figures = row_figures(connection, study_id);
  std::vector<TrialColumn> columns = trial_columns();
  std::erase_if(columns, [&](const TrialColumn& column) {
    const bool tells =
        column.tells != nullptr && std::ranges::any_of(trials, [&](const db::Trial& trial) {
          return column.tells(trial, figures.at(trial.id));
        });
    return !shows_column(arguments, column.shown == Shown::always || tells);
  });
  std::vector<std::string> names;
  for (const TrialColumn& column : columns) names.push_back(column.name);
  db::RowWriter writer(stdout, style_of(arguments), names);
  for (const db::Trial& trial : trials) {
    std::vector<db::Cell> row;
    for (const TrialColumn& column : columns) {
      row.push_back(column.cell(trial, figures.at(trial.id)));
    }
    writer.row(row);
  }
  writer.finish();
}

int ranks_of_study(const Arguments& arguments) {
  const std::string& hostfile = arguments.study.job.launcher.hostfile;
  const auto ranks = moe::ranks_or_allocation(arguments.scenario.ranks, hostfile);
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
  const std::vector<SweptKey> keys = parse_sweep(arguments.scenario.settings);
  const std::vector<std::vector<std::string>> all = combinations(keys);
  if (all.size() > 1) return sweep_studies(keys, all, arguments);
  set_model(options, all.front());
  const StudyEnd end = run_study(options);
  if (options.dry_run) {
    print_plan(end.plan, arguments);
    return 0;
  }
  print_trials(db::open_reader(options.job.database), end.id, arguments);
  if (end.failure.empty()) return 0;
  spdlog::error("study \"{}\": {}", options.name, end.failure);
  return 1;
}

}  // namespace tuner
