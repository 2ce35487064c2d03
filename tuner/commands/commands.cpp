#include "tuner/commands/commands.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <set>

#include "db/export.h"
#include "db/format_rows.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/output_file.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/machine.h"
#include "moe/model/iteration.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "moe/train/train_store.h"
#include "tuner/commands/routing_spec.h"
#include "tuner/costs/fit_measurements.h"
#include "tuner/planners/pipemoe/pipemoe.h"
#include "tuner/simulate/timeline_text.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

db::Style style_of(const Arguments& arguments) {
  return {*db::parse_format(arguments.format), db::use_color(arguments.color, stdout)};
}

void warn(const std::string& text) { std::cerr << "moe-tune: " << text << '\n'; }

// --- fit ---------------------------------------------------------------------------------------

}  // namespace

int fit(const Arguments& arguments, int argc, char** argv) {
  const std::string& path = arguments.scenario.database;
  db::Connection connection = db::open_writer(path, {.create = false});
  const auto measurements = db::load_measurements(connection);
  std::map<std::int64_t, int> nodes;
  for (const db::Measurement& row : measurements) {
    if (nodes.contains(row.run_id)) continue;
    std::set<int> seen;
    for (const db::RunRank& rank : db::load_run_ranks(connection, row.run_id)) {
      seen.insert(rank.node);
    }
    nodes[row.run_id] = static_cast<int>(seen.size());
  }
  auto fits = fit_measurements(measurements, nodes);
  if (fits.empty()) {
    throw moe::InputError(
        fmt::format("{}: no measurements: make some with moe-bench all --db {}", path, path));
  }
  db::Transaction transaction(connection, "store fits");
  db::Run run = db::this_run("fit", "fit", argc, argv);
  const std::int64_t run_id = db::begin_run(connection, std::move(run), moe::this_machine());
  for (db::Fit& row : fits) row.run_id = run_id;
  db::insert(connection, fits);
  db::finish_run(connection, run_id, "done");
  transaction.commit();

  db::RowWriter writer(stdout, style_of(arguments),
                       {"op", "device", "ranks", "link", "alpha_s", "beta_s_per_unit", "unit", "r2",
                        "samples", "max_relative_residual"});
  for (const db::Fit& row : fits) {
    writer.row({row.op, row.device, std::int64_t{row.ranks}, row.link, row.alpha_s,
                row.beta_s_per_unit, row.unit, row.r2, std::int64_t{row.samples},
                row.max_relative_residual});
  }
  writer.finish();
  return 0;
}

// --- plan --------------------------------------------------------------------------------------

int plan(const Arguments& arguments) {
  db::refuse_database_as_output(arguments.output, arguments.scenario.database);
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  const Scenario scenario = load_scenario(arguments.scenario);
  const Situation situation = scenario.situation();
  const moe::Schedule schedule = request.planner->plan(situation, request.options);
  moe::apply(scenario.program, schedule);  // a plan that is not legal is no plan
  if (request.planner->name == "pipemoe") {
    const PipeMoeChoice choice = choose_pipemoe(situation, request.options);
    warn(fmt::format(
        "pipemoe: {} chunks forward, {} backward by simulation; {} and {} by the closed form",
        choice.by_simulation.forward, choice.by_simulation.backward, choice.by_equations.forward,
        choice.by_equations.backward));
  }
  db::write_output(arguments.output, moe::to_json(schedule) + '\n');
  return 0;
}

namespace {

// --- simulate ----------------------------------------------------------------------------------

/// The planner that made a schedule, for its closed form; sequential's sum where it is not known.
const Planner& maker_of(const moe::Schedule& schedule) {
  for (const Planner& planner : planners()) {
    if (planner.name == schedule.planner) return planner;
  }
  return *parse_planner(moe::decisions_of<moe::PipelineSplit>(schedule).empty() ? "sequential"
                                                                                : "tutel")
              .planner;
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
  run.model_json = moe::to_json(scenario.model);
  run.cluster_json = to_json(scenario.cluster);
  const std::int64_t id =
      db::begin_run(connection, std::move(run), moe::this_machine(),
                    db::Schedule{0, "", schedule.planner, moe::to_json(schedule)});
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

}  // namespace

int simulate_schedule(const Arguments& arguments, int argc, char** argv) {
  const std::string& database = arguments.scenario.database;
  db::refuse_database_as_output(arguments.trace, database);
  std::optional<db::Connection> connection;  // to store in
  if (!database.empty() && arguments.scenario.cluster != "measured") {
    connection = db::open_writer(database, {.create = false});
  }
  const Scenario scenario = load_scenario(arguments.scenario);
  moe::Schedule schedule;
  if (!arguments.schedule.empty()) {
    schedule = moe::load_schedule(arguments.schedule);
  } else {
    PlannerRequest request = parse_planner(arguments.planner);
    request.options.most_chunks = arguments.most_chunks;
    schedule = request.planner->plan(scenario.situation(), request.options);
  }
  const Prediction prediction = predict(scenario.situation(), maker_of(schedule), schedule);
  const TimelineSummary summary = summarize(prediction.program, prediction.timeline);
  if (!arguments.trace.empty()) write_trace(scenario, schedule, prediction, arguments.trace);
  if (connection) {
    warn(fmt::format("run {} in {}",
                     store_simulation(scenario, schedule, prediction, *connection, argc, argv),
                     database));
  }
  if (arguments.fits) {
    for (const std::string& line :
         fits_used(scenario.costs, prediction.program,
                   moe::bind(prediction.program, scenario.routing, scenario.groups, 0),
                   scenario.groups)) {
      std::cerr << line << '\n';
    }
  }
  if (arguments.timeline) {
    std::cout << timeline_text(prediction.program, prediction.timeline);
    return 0;
  }
  db::RowWriter writer(
      stdout, style_of(arguments),
      {"planner", "ranks", "ops", "predicted_s", "paper_s", "lower_bound_s", "bounded_by",
       "computation_s", "communication_s", "exposed_s", "overlapped_s", "predicted_peak_bytes"});
  writer.row({schedule.planner, std::int64_t{scenario.groups.ranks},
              static_cast<std::int64_t>(prediction.program.ops.size()), summary.duration_s,
              prediction.paper_s, prediction.bound.seconds(), prediction.bound.where,
              summary.computation_s, summary.communication_s, summary.exposed_s,
              summary.overlapped_s, prediction.peak_bytes});
  writer.finish();
  return 0;
}

namespace {

// --- compare -----------------------------------------------------------------------------------

}  // namespace

int compare(const Arguments& arguments) {
  auto requests = parse_planners(arguments.planners);
  const Scenario scenario = load_scenario(arguments.scenario);
  const Situation situation = scenario.situation();
  const Planner& baseline = *parse_planner("sequential").planner;
  const double sequential_s =
      predict(situation, baseline, baseline.plan(situation, {})).timeline.duration_s;

  db::RowWriter writer(
      stdout, style_of(arguments),
      {"planner", "forward_chunks", "backward_chunks", "paper_s", "predicted_s", "lower_bound_s",
       "speedup", "exposed_s", "predicted_peak_bytes", "fits_memory"});
  for (PlannerRequest& request : requests) {
    request.options.most_chunks = arguments.most_chunks;
    const moe::Schedule schedule = request.planner->plan(situation, request.options);
    const Prediction prediction = predict(situation, *request.planner, schedule);
    const Degrees degrees = degrees_of(schedule);
    const std::int64_t limit = scenario.cluster.memory_bytes;
    writer.row({std::string(request.planner->name), std::int64_t{degrees.forward},
                std::int64_t{degrees.backward}, prediction.paper_s, prediction.timeline.duration_s,
                prediction.bound.seconds(), sequential_s / prediction.timeline.duration_s,
                summarize(prediction.program, prediction.timeline).exposed_s, prediction.peak_bytes,
                limit == 0 ? db::Cell() : db::Cell(prediction.peak_bytes <= limit ? "yes" : "no")});
  }
  writer.finish();
  return 0;
}

namespace {

// --- study -------------------------------------------------------------------------------------

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
  options.job.expert_ranks = arguments.scenario.expert_ranks;
  options.memory_limit_bytes = options.job.memory_limit_bytes;
  options.planners = parse_planners(arguments.planners);
  options.argv.assign(argv, argv + argc);
  if (arguments.top == "all") {
    options.top = 0;
  } else {
    options.top = std::stoi(arguments.top);
  }
  const moe::Groups groups =
      moe::make_groups(options.job.ranks,
                       options.job.expert_ranks > 0 ? options.job.expert_ranks : options.job.ranks);
  moe::check(options.model, groups);
  if (!options.routing.empty()) {
    // Used only after minutes of profiling: what is wrong with it is said now.
    make_routing(options.routing, moe::build_iteration(options.model, groups, 0), groups, 1);
  }
  options.say = [](const std::string& text) { warn(text); };
  moe::stop_when_asked();
  const std::int64_t id = run_study(options);

  const db::Connection connection = db::open_reader(options.job.database);
  auto trials = db::load_trials(connection, id);
  const std::map<std::int64_t, double> speedups = db::load_speedups(connection);
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    const auto key = [](const db::Trial& t) {
      return std::pair(t.measured_s.value_or(1e300), t.predicted_s.value_or(1e300));
    };
    return key(a) < key(b);
  });
  const auto optional = [](const auto& value) { return value ? db::Cell(*value) : db::Cell(); };
  db::RowWriter writer(stdout, style_of(arguments),
                       {"planner", "parameters", "status", "paper_s", "predicted_s", "measured_s",
                        "prediction_error", "lower_bound_s", "speedup", "predicted_peak_bytes",
                        "measured_peak_bytes"});
  for (const db::Trial& trial : trials) {
    const bool measured = trial.measured_s && trial.predicted_s;
    writer.row({trial.planner, trial.parameters_json, trial.status, optional(trial.paper_s),
                optional(trial.predicted_s), optional(trial.measured_s),
                measured ? db::Cell(*trial.predicted_s / *trial.measured_s - 1) : db::Cell(),
                optional(trial.lower_bound_s),
                speedups.contains(trial.id) ? db::Cell(speedups.at(trial.id)) : db::Cell(),
                optional(trial.predicted_peak_bytes), optional(trial.measured_peak_bytes)});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
