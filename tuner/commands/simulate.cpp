#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "db/console/format_rows.h"
#include "db/console/output_file.h"
#include "db/identity.h"
#include "db/output_place.h"
#include "db/store.h"
#include "db/timeline/chrome_trace.h"
#include "db/timeline/memory_table.h"
#include "db/timeline/summary.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/memory/memory_rows.h"
#include "moe/model/model_json.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/program/timeline_rows.h"
#include "moe/run/machine.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/timeline_views.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// The planner that made a schedule, for its closed form. A schedule that was written by hand names
/// none: it gets the form of a pipeline where it cuts layers, else the sum of its ops.
const Planner& maker_of(const moe::Schedule& schedule) {
  const auto maker = std::ranges::find(planners(), schedule.planner, &Planner::name);
  if (maker != planners().end()) return *maker;
  const bool cuts = !moe::decisions_of<moe::PipelineSplit>(schedule).empty();
  return planner_named(cuts ? "tutel" : db::kSequential);
}

void write_trace(const Scenario& scenario, const moe::Schedule& schedule,
                 const Prediction& prediction, const std::string& path) {
  db::Connection memory = db::open_writer(":memory:");
  moe::TimelineRows rows = moe::timeline_rows(prediction.program, prediction.timeline,
                                              prediction.routing, scenario.groups);
  rows.timeline.kind = db::kPredicted;
  rows.timeline.label = schedule.planner;
  const std::vector<std::int64_t> ids{moe::insert(memory, rows)};
  db::export_trace(memory, ids, path);
}

std::int64_t store_simulation(const Scenario& scenario, const moe::Schedule& schedule,
                              const Prediction& prediction, db::Connection& connection, int argc,
                              char** argv) {
  db::Transaction transaction(connection, "store a simulation");
  db::Run run = db::this_run("simulate", scenario.model.name, argc, argv);
  run.device = scenario.cluster.device;
  run.ranks = scenario.groups.ranks;
  run.layout = moe::to_text(scenario.groups.layout);
  run.seed = scenario.model.seed;
  run.model_json = moe::to_json(scenario.model);
  run.cluster_json = to_json(scenario.cluster);
  const std::int64_t id =
      db::begin_run(connection, std::move(run), moe::this_machine(), moe::schedule_row(schedule));
  moe::TimelineRows rows = predicted_rows(prediction, scenario.groups, schedule.planner);
  rows.timeline.run_id = id;
  moe::insert(connection, rows);
  db::finish_run(connection, id, "done");
  transaction.commit();
  return id;
}

/// The use of each rank's arena over the predicted iteration.
db::MemoryTable memory_of_ranks(const Scenario& scenario, const Prediction& prediction,
                                std::vector<int> ranks = {}) {
  return db::build_memory_table(
      moe::memory_rows(prediction.program, prediction.timeline, prediction.routing, scenario.groups,
                       std::move(ranks)),
      {});
}

/// Ranks of which one has most memory in use. Ranks with the same rows and timeline need as much.
std::vector<int> ranks_to_look_at(const Scenario& scenario, const Prediction& prediction) {
  const moe::AllRoutedRows routed(prediction.program, prediction.routing);
  std::vector<int> ranks =
      ranks_of_most_memory(prediction.program, scenario.groups, routed.layers());
  std::vector<int> all(static_cast<std::size_t>(scenario.groups.ranks));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int>& like = prediction.timeline.like.empty() ? all : prediction.timeline.like;
  const bool have_same_sizes = static_cast<int>(ranks.size()) == scenario.groups.layout.pipeline;
  return have_same_sizes ? first_of_alike(all, scenario.groups, {}, like)
                         : first_of_alike(ranks, scenario.groups, routed.layers(), like);
}

void print_memory(const db::MemoryTable& memory, const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments), {"rank", "time_s", "in_use_bytes"});
  for (const db::RankMemory& rank : memory.ranks) {
    for (const db::MemoryStep& step : rank.device.steps) {
      writer.row({std::int64_t{rank.rank}, step.at_s, static_cast<std::int64_t>(step.bytes)});
    }
  }
  writer.finish();
}

/// The schedule of --schedule, or the one that --planner makes.
moe::Schedule schedule_of(const Arguments& arguments, const Scenario& scenario) {
  if (!arguments.schedule.empty()) {
    moe::Schedule schedule = moe::load_schedule(arguments.schedule);
    moe::check_applies(scenario.program, schedule, arguments.schedule);
    return schedule;
  }
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  return plan_with(*request.planner, scenario.situation(), request.options);
}

void print_fits(const Scenario& scenario, const Prediction& prediction) {
  const auto rows = moe::bind(prediction.program, prediction.routing, scenario.groups, 0);
  for (const std::string& line :
       fits_used(scenario.costs, prediction.program, prediction.costs.ops, rows, scenario.groups)) {
    spdlog::info(line);
  }
}

/// A column of the summary, and the figure in it.
struct Figure {
  std::string column;
  db::Cell value;
};

void print_summary(const Arguments& arguments, const Scenario& scenario,
                   const moe::Schedule& schedule, const Prediction& prediction,
                   const db::Timeline& timeline) {
  const double predicted_s = prediction.timeline.duration_s;
  const db::RankStatistics mean = db::summarize(timeline, timeline.extent).mean;
  const db::MemoryTable memory =
      memory_of_ranks(scenario, prediction, ranks_to_look_at(scenario, prediction));
  const db::RankMemory& fullest = *db::fullest_rank(memory);
  std::vector<Figure> figures{
      {"planner", schedule.planner},
      {"ranks", std::int64_t{scenario.groups.ranks}},
      {"ops", static_cast<std::int64_t>(prediction.program.ops.size())},
      {"predicted_s", predicted_s},
      {"predicted_deviation_s", db::optional_cell(prediction.deviation_s)},
      {"paper_s", db::optional_cell(prediction.paper_s)},
      {"lower_bound_s", prediction.bound.seconds()},
      {"bounded_by", prediction.bound.where},
      {"computation_s", mean.computation_s},
      {"communication_s", mean.communication_s},
      {"exposed_s", mean.exposed_s},
      {"overlapped_s", mean.covered_s()},
      {"predicted_peak_bytes", prediction.peak_bytes},
      {"fits_memory", fits_memory(prediction.peak_bytes, scenario.cluster)},
      {"peak_in_use_bytes", static_cast<std::int64_t>(fullest.device.peak.bytes)},
      {"peak_at_s", fullest.device.peak.at_s},
      {"peak_rank", std::int64_t{fullest.rank}}};
  if (shows_column(arguments, prediction.host_peak_bytes > 0)) {
    figures.push_back({"predicted_host_peak_bytes", prediction.host_peak_bytes});
  }
  const std::string changes = moe::changes_results(schedule);
  if (shows_column(arguments, !changes.empty())) {
    figures.push_back({"changes_results", db::text_cell(changes)});
  }
  std::vector<std::string> columns;
  std::vector<db::Cell> row;
  for (Figure& figure : figures) {
    columns.push_back(std::move(figure.column));
    row.push_back(std::move(figure.value));
  }
  db::RowWriter writer(stdout, style_of(arguments), columns);
  writer.row(row);
  writer.finish();
}

}  // namespace

int simulate_schedule(const Arguments& arguments, int argc, char** argv) {
  const std::string& database = arguments.scenario.database;
  db::refuse_database_as_output(arguments.trace, database);
  if (!arguments.trace.empty()) db::expect_output(arguments.trace);
  const bool has_stdout = arguments.trace == "-";
  if (has_stdout && (arguments.timeline || arguments.breakdown || arguments.memory)) {
    throw moe::InputError(
        "--trace -: stdout has the trace alone: expected a file, or no --timeline, --breakdown "
        "and --memory");
  }
  std::optional<db::Connection> connection;  // to store in
  if (!database.empty() && !is_measured_cluster(arguments.scenario.cluster)) {
    connection = db::open_writer(database, {.create = false});
  }
  std::set<std::string> said;
  const Scenario scenario = load_said(arguments.scenario, said);
  const moe::Schedule schedule = schedule_of(arguments, scenario);
  warn_of_other_results(schedule);
  const Prediction prediction = predict(scenario.situation(), maker_of(schedule), schedule);
  if (!arguments.trace.empty()) write_trace(scenario, schedule, prediction, arguments.trace);
  if (connection) {
    const std::int64_t run =
        store_simulation(scenario, schedule, prediction, *connection, argc, argv);
    spdlog::info("run {} in {}", run, database);
  }
  const std::string unused = unused_fits(
      scenario.costs, fit_use(scenario.costs, prediction.program, prediction.costs.ops));
  if (!unused.empty()) spdlog::warn(unused);
  if (arguments.fits) print_fits(scenario, prediction);
  if (has_stdout) return 0;
  if (arguments.memory) {
    print_memory(memory_of_ranks(scenario, prediction), arguments);
    return 0;
  }
  const db::Timeline timeline =
      moe::asked_timeline(prediction.program, prediction.timeline, scenario.groups);
  if (arguments.timeline) {
    print_timeline(timeline, arguments);
  } else if (arguments.breakdown) {
    print_breakdown(timeline, arguments);
  } else {
    print_summary(arguments, scenario, schedule, prediction, timeline);
  }
  return 0;
}

}  // namespace tuner
