#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "tuner/commands/best_layout.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/compared_rows.h"
#include "tuner/commands/printing.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"
#include "tuner/scenario/sweep.h"

namespace tuner {
namespace {

std::vector<PlannerRequest> requests_of(const Arguments& arguments) {
  auto requests = parse_planners(arguments.planners);
  for (PlannerRequest& request : requests) {
    request.options.most_chunks = arguments.most_chunks;
    if (!request.planner->measures) continue;
    spdlog::info("{}: chosen by simulation, as nothing is run; a study chooses by running",
                 request.planner->name);
  }
  return requests;
}

/// The rows of one combination of settings. What is said already is not said again.
ComparedRows compared(const Arguments& arguments, const std::vector<PlannerRequest>& requests,
                      const std::vector<std::string>& settings, std::set<std::string>& said) {
  ScenarioOptions options = arguments.scenario;
  options.settings = settings;
  const Scenario scenario = load_with_best_layout(std::move(options), requests, said);
  const int plan_every = arguments.plan_every;
  std::vector<Given> given;
  for (const std::string& file : arguments.given) {
    given.push_back(load_given(file, scenario.program));
  }
  if (plan_every > 0 && scenario.routings.empty()) {
    throw moe::InputError(fmt::format(
        "--plan-every {}: --routing {} is one iteration: expected a folder with a file for "
        "each, or drift:EXPONENT:SHARE:ITERATIONS",
        plan_every, arguments.scenario.routing));
  }
  if (plan_every > 0 && static_cast<int>(scenario.routings.size()) <= arguments.history) {
    throw moe::InputError(fmt::format("--history {}: --routing {} has {} iterations: expected more",
                                      arguments.history, arguments.scenario.routing,
                                      scenario.routings.size()));
  }
  ComparedRows rows =
      plan_every > 0
          ? replay_planners(scenario.situation(), requests, given, {plan_every, arguments.history})
          : compare_planners(scenario.situation(), requests, given, arguments.candidates);
  const std::string unused = unused_fits(scenario.costs, rows.fits_used);
  if (!unused.empty() && said.insert(unused).second) spdlog::warn(unused);
  return rows;
}

/// What a model, a layout or a file refuses is a row for each planner. Within the error's handler.
ComparedRows all_refused(const std::vector<PlannerRequest>& requests, const std::string& reason) {
  ComparedRows result;
  for (const PlannerRequest& request : requests) {
    Compared& row = result.rows.emplace_back();
    row.planner = request.planner->name;
    row.parameters_json = to_json(request.options);
    row.refusal = reason;
  }
  result.first_refusal = std::current_exception();
  return result;
}

bool any_has(const std::vector<Compared>& rows, std::string Compared::*text) {
  return std::ranges::any_of(rows, [&](const Compared& row) { return !(row.*text).empty(); });
}

void print(const std::vector<SweptKey>& keys, const std::vector<Compared>& rows,
           const Arguments& arguments) {
  std::vector<std::string> columns;
  for (const SweptKey& key : keys) columns.push_back(key.key);
  columns.insert(columns.end(), {"planner", "parameters"});
  columns.insert(columns.end(), std::begin(kComparedFigures), std::end(kComparedFigures));
  const bool has_replicas = shows_column(
      arguments,
      std::ranges::any_of(rows, [](const Compared& row) { return !row.of_replicas.empty(); }));
  if (has_replicas) {
    columns.insert(columns.end(), std::begin(kReplicaFigures), std::end(kReplicaFigures));
  }
  const std::size_t figures = columns.size();
  std::vector<std::pair<const char*, std::string Compared::*>> seldom{
      {"given", &Compared::given},
      {"changes_results", &Compared::changes},
      {"refusal", &Compared::refusal}};
  std::erase_if(seldom, [&](const auto& column) {
    return !shows_column(arguments, any_has(rows, column.second));
  });
  for (const auto& [name, text] : seldom) columns.emplace_back(name);
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const Compared& row : rows) {
    std::vector<db::Cell> cells;
    for (const std::string& setting : row.settings) cells.push_back(setting_cell(setting));
    cells.insert(cells.end(), {row.planner, row.parameters_json});
    cells.insert(cells.end(), row.figures.begin(), row.figures.end());
    cells.resize(keys.size() + 2 + std::size(kComparedFigures));
    if (has_replicas) {
      cells.insert(cells.end(), row.of_replicas.begin(), row.of_replicas.end());
    }
    cells.resize(figures);
    for (const auto& [name, text] : seldom) cells.push_back(db::text_cell(row.*text));
    writer.row(cells);
  }
  writer.finish();
}

}  // namespace

int compare(const Arguments& arguments) {
  const std::vector<SweptKey> keys = parse_sweep(arguments.scenario.settings);
  const std::vector<PlannerRequest> requests = requests_of(arguments);
  std::set<std::string> said;
  ComparedRows all;
  for (const std::vector<std::string>& settings : combinations(keys)) {
    ComparedRows added;
    try {
      added = compared(arguments, requests, settings, said);
    } catch (const moe::Refusal& refusal) {
      added = all_refused(requests, refusal.what());
    } catch (const moe::InputError& error) {
      added = all_refused(requests, error.what());
    }
    for (Compared& row : added.rows) row.settings = settings;
    std::ranges::move(added.rows, std::back_inserter(all.rows));
    if (!all.first_refusal) all.first_refusal = added.first_refusal;
  }
  const bool any =
      std::ranges::any_of(all.rows, [](const Compared& row) { return !row.figures.empty(); });
  if (!any && all.first_refusal) std::rethrow_exception(all.first_refusal);
  print(keys, all.rows, arguments);
  return 0;
}

}  // namespace tuner
