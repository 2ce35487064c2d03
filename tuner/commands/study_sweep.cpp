#include "tuner/commands/study_sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "db/best_trial.h"
#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/error.h"
#include "moe/errors.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/study_layouts.h"
#include "tuner/study/training_plan.h"

namespace tuner {
namespace {

/// The columns of the keys, in the order of `SweptStudy::settings`.
std::vector<std::string> key_columns(const std::vector<SweptKey>& keys) {
  std::vector<std::string> columns;
  for (const SweptKey& key : keys) columns.push_back(key.key);
  return columns;
}

std::vector<db::Cell> key_cells(const SweptStudy& one) {
  std::vector<db::Cell> cells;
  for (const std::string& setting : one.settings) cells.push_back(setting_cell(setting));
  return cells;
}

std::optional<db::BestTrial> best_of_study(const SweptStudy& one) {
  if (one.end.id == 0) return std::nullopt;
  const std::string& database = one.options.job.database;
  try {
    return db::best_trials(db::open_reader(database), one.options.name, database).front();
  } catch (const db::Error& error) {
    if (error.kind != db::ErrorKind::not_found) throw;
    return std::nullopt;
  }
}

/// Why it has no row of figures, or its figures are not all.
std::string remark_of(const SweptStudy& one) {
  if (!one.refusal.empty()) return one.refusal;
  if (!one.end.failure.empty()) return one.end.failure;
  if (one.end.id == 0) return "not begun";
  return one.end.ended_early ? "the budget is used" : "";
}

/// A row for each study: its fastest trial.
void print_fastest(const std::vector<SweptKey>& keys, const std::vector<SweptStudy>& studies,
                   const Arguments& arguments) {
  std::vector<std::string> columns = key_columns(keys);
  columns.insert(columns.end(), {"study", "planner", "parameters", "measured_s", "tied_with",
                                 "speedup", "tokens_per_s"});
  const bool has_remarks = shows_column(
      arguments,
      std::ranges::any_of(studies, [](const SweptStudy& one) { return !remark_of(one).empty(); }));
  if (has_remarks) columns.emplace_back("remark");
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const SweptStudy& one : studies) {
    std::vector<db::Cell> cells = key_cells(one);
    cells.emplace_back(one.options.name);
    if (const auto best = best_of_study(one)) {
      const moe::Model& model = one.options.model;
      const auto tokens = static_cast<double>(model.global_batch * model.sequence_length);
      cells.insert(cells.end(), {best->planner, best->parameters, best->measured_s,
                                 db::text_cell(best->tied_with), db::optional_cell(best->speedup),
                                 tokens / best->measured_s});
    }
    cells.resize(keys.size() + 7);
    if (has_remarks) cells.push_back(db::text_cell(remark_of(one)));
    writer.row(cells);
  }
  writer.finish();
}

std::vector<SweptStudy> studies_of(const std::vector<SweptKey>& keys,
                                   const std::vector<std::vector<std::string>>& combinations,
                                   const Arguments& arguments) {
  const StudyOptions& options = arguments.study;
  std::vector<SweptStudy> studies;
  for (const std::vector<std::string>& settings : combinations) {
    SweptStudy& one = studies.emplace_back();
    one.settings = settings;
    one.options = options;
    one.options.name = name_of_swept(options.name, swept_settings(keys, settings));
    try {
      set_model(one.options, settings);
      choose_layout(arguments, one.options);
    } catch (const moe::Refusal& refusal) {
      one.refusal = refusal.what();
    } catch (const moe::InputError& error) {
      one.refusal = error.what();
    }
    if (!one.refusal.empty()) spdlog::warn("study \"{}\": {}", one.options.name, one.refusal);
  }
  return studies;
}

}  // namespace

void set_model(StudyOptions& options, const std::vector<std::string>& settings) {
  options.model = moe::load_model(options.job.model, settings);
  options.job.settings = settings;
  if (options.job.seed) options.model.seed = *options.job.seed;
}

void print_plans(const std::vector<SweptKey>& keys, const std::vector<SweptStudy>& studies,
                 const Arguments& arguments) {
  std::vector<std::string> columns = key_columns(keys);
  columns.insert(columns.end(), {"what", "planner", "parameters", "runs", "iterations",
                                 "iteration_s", "duration_s"});
  db::RowWriter writer(stdout, style_of(arguments), columns);
  double seconds = 0, bytes = 0;
  std::size_t known = 0, known_bytes = 0;
  for (const SweptStudy& one : studies) {
    seconds += one.end.planned_s.value_or(0);
    known += one.end.planned_s ? 1 : 0;
    bytes += one.end.planned_bytes.value_or(0);
    known_bytes += one.end.planned_bytes ? 1 : 0;
    for (const PlannedTraining& training : one.end.plan) {
      const std::int64_t runs = training.runs, iterations = training.iterations;
      std::optional<double> duration_s = training.iteration_s;
      if (duration_s) *duration_s *= static_cast<double>(runs * iterations);
      std::vector<db::Cell> cells = key_cells(one);
      cells.insert(cells.end(),
                   {training.what, training.planner, training.parameters_json, runs, iterations,
                    db::optional_cell(training.iteration_s), db::optional_cell(duration_s)});
      writer.row(cells);
    }
  }
  writer.finish();
  if (known > 0 && !keys.empty()) {
    spdlog::info("{} of {} studies: {}", known, studies.size(),
                 in_all(seconds, known_bytes == known ? std::optional(bytes) : std::nullopt));
  }
}

int sweep_studies(const std::vector<SweptKey>& keys,
                  const std::vector<std::vector<std::string>>& combinations,
                  const Arguments& arguments) {
  std::vector<SweptStudy> studies = studies_of(keys, combinations, arguments);
  run_studies(studies, arguments.study.budget_s, arguments.study.say);
  if (arguments.study.dry_run) {
    print_plans(keys, studies, arguments);
    return 0;
  }
  print_fastest(keys, studies, arguments);
  const auto compares = [](const SweptStudy& one) {
    return one.refusal.empty() && one.end.failure.empty();
  };
  return std::ranges::all_of(studies, compares) ? 0 : 1;
}

}  // namespace tuner
