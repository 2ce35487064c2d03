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
#include "tuner/commands/commands.h"
#include "tuner/commands/compared_rows.h"
#include "tuner/commands/printing.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/plan_memory.h"
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

/// Compares one combination of settings after another.
class Sweep {
 public:
  explicit Sweep(const Arguments& arguments)
      : arguments_(arguments), requests_(requests_of(arguments)) {}

  void add(const std::vector<std::string>& settings) {
    ComparedRows added = rows_of(settings);
    for (Compared& row : added.rows) row.settings = settings;
    std::ranges::move(added.rows, std::back_inserter(rows_));
    if (!first_refusal_) first_refusal_ = added.first_refusal;
  }
  /// Throws the first refusal where there is nothing else.
  const std::vector<Compared>& rows() const {
    const bool any =
        std::ranges::any_of(rows_, [](const Compared& row) { return !row.figures.empty(); });
    if (!any && first_refusal_) std::rethrow_exception(first_refusal_);
    return rows_;
  }

 private:
  /// What a model, a layout or a file refuses is a row for each planner.
  ComparedRows rows_of(const std::vector<std::string>& settings) {
    try {
      return compared(settings);
    } catch (const moe::Refusal& refusal) {
      return refused(refusal.what());
    } catch (const moe::InputError& error) {
      return refused(error.what());
    }
  }
  ComparedRows compared(const std::vector<std::string>& settings) {
    ScenarioOptions options = arguments_.scenario;
    options.settings = settings;
    const Scenario scenario = load_said(options, said_);
    std::vector<Given> given;
    for (const std::string& file : arguments_.given) {
      given.push_back(load_given(file, scenario.program));
    }
    if (arguments_.plan_every > 0) {
      if (scenario.routings.empty()) {
        throw moe::InputError(fmt::format(
            "--plan-every {}: --routing {} is one iteration: expected a folder with a file for "
            "each, or drift:EXPONENT:SHARE:ITERATIONS",
            arguments_.plan_every, options.routing));
      }
      return with_unused_said(
          scenario, replay_planners(scenario.situation(), requests_, given, arguments_.plan_every));
    }
    return with_unused_said(
        scenario, compare_planners(scenario.situation(), requests_, given, arguments_.candidates));
  }
  ComparedRows with_unused_said(const Scenario& scenario, ComparedRows rows) {
    const std::string unused = unused_fits(scenario.costs, rows.fits_used);
    if (!unused.empty() && said_.insert(unused).second) spdlog::warn(unused);
    return rows;
  }
  /// Within the handler of an error.
  ComparedRows refused(const std::string& reason) const {
    ComparedRows result;
    for (const PlannerRequest& request : requests_) {
      Compared& row = result.rows.emplace_back();
      row.planner = request.planner->name;
      row.parameters_json = to_json(request.options);
      row.refusal = reason;
    }
    result.first_refusal = std::current_exception();
    return result;
  }

  const Arguments& arguments_;
  const std::vector<PlannerRequest> requests_;
  std::set<std::string> said_;
  std::vector<Compared> rows_;
  std::exception_ptr first_refusal_{};
};

bool any_has(const std::vector<Compared>& rows, std::string Compared::*text) {
  return std::ranges::any_of(rows, [&](const Compared& row) { return !(row.*text).empty(); });
}

void print(const std::vector<SweptKey>& keys, const std::vector<Compared>& rows,
           const Arguments& arguments) {
  std::vector<std::string> columns;
  for (const SweptKey& key : keys) columns.push_back(key.key);
  columns.insert(columns.end(), {"planner", "parameters"});
  columns.insert(columns.end(), std::begin(kComparedFigures), std::end(kComparedFigures));
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
    for (const auto& [name, text] : seldom) cells.push_back(db::text_cell(row.*text));
    writer.row(cells);
  }
  writer.finish();
}

}  // namespace

int compare(const Arguments& arguments) {
  const std::vector<SweptKey> keys = parse_sweep(arguments.scenario.settings);
  Sweep sweep(arguments);
  for (const std::vector<std::string>& settings : combinations(keys)) sweep.add(settings);
  print(keys, sweep.rows(), arguments);
  return 0;
}

}  // namespace tuner
