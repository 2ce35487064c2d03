#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "db/console/format_rows.h"
#include "db/console/output_file.h"
#include "db/export.h"
#include "db/identity.h"
#include "db/output_place.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/model/model_json.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/program/timeline_rows.h"
#include "moe/run/machine.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/planners.h"
#include "tuner/simulate/chained.h"
#include "tuner/simulate/memory_use.h"
#include "tuner/simulate/timeline_text.h"
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
                                              scenario.routing, scenario.groups);
  rows.timeline.kind = "predicted";
  rows.timeline.label = schedule.planner;
  const std::vector<std::int64_t> ids{db::insert(memory, rows.timeline, rows.ops, rows.spans)};
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
  moe::TimelineRows rows = moe::timeline_rows(prediction.program, prediction.timeline,
                                              scenario.routing, scenario.groups);
  rows.timeline.run_id = id;
  rows.timeline.kind = "predicted";
  rows.timeline.label = schedule.planner;
  db::insert(connection, rows.timeline, rows.ops, rows.spans);
  db::finish_run(connection, id, "done");
  transaction.commit();
  return id;
}

/// The use of a rank's arena over the predicted iteration.
struct RankMemory {
  int rank = 0;
  std::vector<MemoryUse> uses;
  MemoryUse peak;
};

std::vector<RankMemory> memory_of_ranks(const Scenario& scenario, const Prediction& prediction) {
  const moe::Program& program = prediction.program;
  const std::vector<moe::StageProgram> stages = moe::stage_programs(program);
  const auto bindings = bind_all(program, scenario.groups, prediction.routing);
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < scenario.groups.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const moe::StageProgram& stage =
        stages[static_cast<std::size_t>(moe::stage_of(scenario.groups, rank))];
    RankMemory one{rank,
                   memory_over_time(stage.program, stage.op_of, bindings[place],
                                    prediction.timeline.ranks[place]),
                   {}};
    one.peak = peak_of(one.uses);
    memory.push_back(std::move(one));
  }
  return memory;
}

/// 0 for less than a nanosecond: such a difference of two sums of thousands of times is rounding.
double rounded_off(double seconds) { return std::abs(seconds) < 1e-9 ? 0 : seconds; }

void print_memory(const std::vector<RankMemory>& memory, const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments), {"rank", "time_s", "in_use_bytes"});
  for (const RankMemory& one : memory) {
    for (const MemoryUse& use : one.uses) {
      writer.row({std::int64_t{one.rank}, use.time_s, use.bytes});
    }
  }
  writer.finish();
}

}  // namespace

int simulate_schedule(const Arguments& arguments, int argc, char** argv) {
  const std::string& database = arguments.scenario.database;
  db::refuse_database_as_output(arguments.trace, database);
  std::optional<db::Connection> connection;  // to store in
  if (!database.empty() && arguments.scenario.cluster != "measured") {
    connection = db::open_writer(database, {.create = false});
  }
  const Scenario scenario = load_said(arguments.scenario);
  moe::Schedule schedule;
  if (!arguments.schedule.empty()) {
    schedule = moe::load_schedule(arguments.schedule);
    moe::check_applies(scenario.program, schedule, arguments.schedule);
  } else {
    PlannerRequest request = parse_planner(arguments.planner);
    request.options.most_chunks = arguments.most_chunks;
    schedule = plan_with(*request.planner, scenario.situation(), request.options);
  }
  warn_of_other_results(schedule);
  const Prediction prediction = predict(scenario.situation(), maker_of(schedule), schedule);
  const TimelineSummary summary = summarize(prediction.program, prediction.timeline);
  if (!arguments.trace.empty()) write_trace(scenario, schedule, prediction, arguments.trace);
  if (connection) {
    const std::int64_t run =
        store_simulation(scenario, schedule, prediction, *connection, argc, argv);
    spdlog::info("run {} in {}", run, database);
  }
  if (arguments.fits) {
    for (const std::string& line :
         fits_used(scenario.costs, prediction.program,
                   moe::bind(prediction.program, scenario.routing, scenario.groups, 0),
                   scenario.groups)) {
      spdlog::info(line);
    }
  }
  if (arguments.timeline) {
    std::cout << timeline_text(prediction.program, prediction.timeline);
    return 0;
  }
  const std::vector<RankMemory> memory = memory_of_ranks(scenario, prediction);
  if (arguments.memory) {
    print_memory(memory, arguments);
    return 0;
  }
  const RankMemory& fullest =
      *std::ranges::max_element(memory, {}, [](const RankMemory& rank) { return rank.peak.bytes; });
  std::vector<std::string> columns{"planner",
                                   "ranks",
                                   "ops",
                                   "predicted_s",
                                   "predicted_deviation_s",
                                   "paper_s",
                                   "lower_bound_s",
                                   "bounded_by",
                                   "computation_s",
                                   "communication_s",
                                   "exposed_s",
                                   "overlapped_s",
                                   "predicted_peak_bytes",
                                   "fits_memory",
                                   "peak_in_use_bytes",
                                   "peak_at_s",
                                   "peak_rank"};
  std::vector<db::Cell> row{schedule.planner,
                            std::int64_t{scenario.groups.ranks},
                            static_cast<std::int64_t>(prediction.program.ops.size()),
                            summary.duration_s,
                            optional_cell(prediction.deviation_s),
                            optional_cell(prediction.paper_s),
                            prediction.bound.seconds(),
                            prediction.bound.where,
                            summary.computation_s,
                            summary.communication_s,
                            summary.exposed_s,
                            summary.overlapped_s,
                            prediction.peak_bytes,
                            fits_memory(prediction.peak_bytes, scenario.cluster),
                            fullest.peak.bytes,
                            fullest.peak.time_s,
                            std::int64_t{fullest.rank}};
  if (shows_column(arguments, prediction.host_peak_bytes > 0)) {
    columns.emplace_back("predicted_host_peak_bytes");
    row.push_back(prediction.host_peak_bytes);
  }
  if (arguments.iterations > 1) {
    const ChainedIterations chained =
        simulate_chained(prediction.program, scenario.groups, scenario.routing, scenario.costs,
                         scenario.cluster, arguments.iterations);
    columns.insert(columns.end(), {"iterations", "chained_s", "chained_less_s"});
    row.insert(row.end(), {std::int64_t{arguments.iterations}, chained.middle_s,
                           rounded_off(summary.duration_s - chained.middle_s)});
  }
  const db::Cell changes = changes_cell(schedule);
  if (shows_column(arguments, changes != db::Cell())) {
    columns.emplace_back("changes_results");
    row.push_back(changes);
  }
  db::RowWriter writer(stdout, style_of(arguments), columns);
  writer.row(row);
  writer.finish();
  return 0;
}

}  // namespace tuner
