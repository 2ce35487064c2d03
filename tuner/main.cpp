#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "db/export.h"
#include "db/format_rows.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/source_tree.h"
#include "moe/train_store.h"
#include "tuner/fit_measurements.h"
#include "tuner/planners/pipemoe.h"
#include "tuner/prediction.h"
#include "tuner/scenario.h"
#include "tuner/study.h"
#include "tuner/timeline_text.h"

namespace tuner {
namespace {

struct Arguments {
  ScenarioOptions scenario;
  std::string planner;
  std::string planners;
  std::string schedule;
  std::string output;
  std::string trace;
  bool timeline = false;
  bool fits = false;
  int most_chunks = 8;
  std::string format = "table";
  std::string color = "auto";
  // study
  StudyOptions study;
  std::string top = "5";
};

db::Style style_of(const Arguments& arguments) {
  return {*db::parse_format(arguments.format), db::use_color(arguments.color, stdout)};
}

void warn(const std::string& text) { std::cerr << "moe-tune: " << text << '\n'; }

// --- fit ---------------------------------------------------------------------------------------

int fit(const Arguments& arguments, int argc, char** argv) {
  const std::string& path = arguments.scenario.database;
  db::Connection connection = db::open_writer(path);
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
  run.machine_id = db::find_or_insert(connection, db::this_machine());
  const std::int64_t run_id = db::insert(connection, run);
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

void write_text(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::cout << text << '\n';
    return;
  }
  std::ofstream file(path);
  file << text << '\n';
  if (!file.flush()) throw moe::InputError(fmt::format("{}: cannot be written", path));
}

int plan(const Arguments& arguments) {
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
  write_text(arguments.output, moe::to_json(schedule));
  return 0;
}

// --- simulate ----------------------------------------------------------------------------------

moe::Schedule read_schedule(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw moe::InputError(fmt::format("{}: cannot be read", path));
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return moe::schedule_from_json(text.str());
  } catch (const moe::InputError& error) {
    throw moe::InputError(fmt::format("{}: {}", path, error.what()));
  }
}

/// The planner that made a schedule, for its closed form; sequential's sum where it is not known.
const Planner& maker_of(const moe::Schedule& schedule) {
  for (const Planner& planner : planners()) {
    if (planner.name == schedule.planner) return planner;
  }
  return *parse_planner(schedule.pipelines.empty() ? "sequential" : "tutel").planner;
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
                              const Prediction& prediction, const std::string& path, int argc,
                              char** argv) {
  db::Connection connection = db::open_writer(path);
  db::Transaction transaction(connection, "store a simulation");
  db::Run run = db::this_run("simulate", scenario.model.name, argc, argv);
  run.machine_id = db::find_or_insert(connection, db::this_machine());
  run.schedule_id =
      db::find_or_insert(connection, db::Schedule{0, "", schedule.planner, moe::to_json(schedule)});
  run.device = scenario.cluster.device;
  run.ranks = scenario.groups.ranks;
  run.model_json = moe::to_json(scenario.model);
  run.cluster_json = to_json(scenario.cluster);
  const std::int64_t id = db::insert(connection, run);
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

int simulate_schedule(const Arguments& arguments, int argc, char** argv) {
  const Scenario scenario = load_scenario(arguments.scenario);
  moe::Schedule schedule;
  if (!arguments.schedule.empty()) {
    schedule = read_schedule(arguments.schedule);
  } else {
    PlannerRequest request = parse_planner(arguments.planner);
    request.options.most_chunks = arguments.most_chunks;
    schedule = request.planner->plan(scenario.situation(), request.options);
  }
  const Prediction prediction = predict(scenario.situation(), maker_of(schedule), schedule);
  const TimelineSummary summary = summarize(prediction.program, prediction.timeline);
  if (!arguments.trace.empty()) write_trace(scenario, schedule, prediction, arguments.trace);
  if (!arguments.scenario.database.empty() && arguments.scenario.cluster != "measured") {
    warn(fmt::format(
        "run {} in {}",
        store_simulation(scenario, schedule, prediction, arguments.scenario.database, argc, argv),
        arguments.scenario.database));
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

// --- compare -----------------------------------------------------------------------------------

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

// --- study -------------------------------------------------------------------------------------

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
  moe::check(options.model, moe::make_groups(options.job.ranks, options.job.expert_ranks > 0
                                                                    ? options.job.expert_ranks
                                                                    : options.job.ranks));
  options.say = [](const std::string& text) { warn(text); };
  const std::int64_t id = run_study(options);

  const db::Connection connection = db::open_reader(options.job.database);
  auto trials = db::load_trials(connection, id);
  double sequential_s = 0;
  for (const db::Trial& trial : trials) {
    if (trial.planner == "sequential") sequential_s = trial.measured_s.value_or(0);
  }
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
                trial.measured_s && sequential_s > 0 ? db::Cell(sequential_s / *trial.measured_s)
                                                     : db::Cell(),
                optional(trial.predicted_peak_bytes), optional(trial.measured_peak_bytes)});
  }
  writer.finish();
  return 0;
}

// --- command line ------------------------------------------------------------------------------

CLI::Validator one_of(const std::vector<std::string>& values) {
  return CLI::IsMember(values).description("");
}

void add_format(CLI::App& command, Arguments& a) {
  command.add_option("--format", a.format, "how rows are written")
      ->check(one_of({"table", "csv", "json"}))
      ->type_name("table|csv|json")
      ->capture_default_str();
  command.add_option("--color", a.color, "colours of a table; NO_COLOR is honoured")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never")
      ->capture_default_str();
}

void add_scenario(CLI::App& command, Arguments& a) {
  command.add_option("--model", a.scenario.model, "name in experiments/models, or a TOML file")
      ->required();
  command
      .add_option("--cluster", a.scenario.cluster,
                  "name in experiments/clusters, a TOML file, or measured (with --db)")
      ->required();
  command.add_option("--db", a.scenario.database, "result database");
  command.add_option("--ranks", a.scenario.ranks, "ranks [all of the cluster]");
  command.add_option("--expert-ranks", a.scenario.expert_ranks,
                     "ranks that share one set of experts [all]");
  command
      .add_option("--routing", a.scenario.routing,
                  "uniform, zipf:EXPONENT, or a file with a Routing as JSON")
      ->capture_default_str();
  command.add_option("--most-chunks", a.most_chunks, "largest degree that planners try")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

std::string planner_list() {
  std::string text;
  for (const Planner& planner : planners()) {
    text += fmt::format("\n  {:12} {}", planner.name, planner.description);
  }
  return text;
}

int run(int argc, char** argv) {
  Arguments a;
  CLI::App app("Costs, predictions, schedules and tuning studies of Mixture-of-Experts training.",
               "moe-tune");
  app.set_version_flag("--version", [] { return db::version_line("moe-tune"); });
  app.require_subcommand(1);
  app.footer("Planners:" + planner_list() +
             "\n\nExamples:\n"
             "  moe-tune fit --db results.db\n"
             "  moe-tune plan --model box-small --cluster box --planner pipemoe -o schedule.json\n"
             "  moe-tune simulate --model box-small --cluster box --schedule schedule.json --trace "
             "trace.json\n"
             "  moe-tune compare --model box-small --cluster box --planners "
             "sequential,tutel:4,pipemoe --routing zipf:1.2\n"
             "  moe-tune study first --model tiny --ranks 2 --db results.db --top 3\n"
             "  moe-tune study first --model tiny --ranks 2 --db results.db --top 3 --resume\n\n"
             "Exit codes: 0 done, 1 a run failed, 2 wrong use or wrong file, 124 time limit.");
  int code = 0;

  auto* fit_command = app.add_subcommand("fit", "fit costs to the measurements in a database");
  fit_command->add_option("--db", a.scenario.database, "result database")->required();
  add_format(*fit_command, a);
  fit_command->footer("Example:\n  moe-tune fit --db results.db --format csv");
  fit_command->callback([&] { code = fit(a, argc, argv); });

  auto* plan_command = app.add_subcommand("plan", "print a planner's schedule as JSON");
  add_scenario(*plan_command, a);
  plan_command
      ->add_option("--planner", a.planner, "planner, with a degree where it takes one: tutel:4")
      ->required();
  plan_command->add_option("-o,--output", a.output, "the file to write [stdout]");
  plan_command->footer(
      "Example:\n  moe-tune plan --model box-small --cluster box --planner tutel:4 -o "
      "schedule.json");
  plan_command->callback([&] { code = plan(a); });

  auto* simulate_command = app.add_subcommand("simulate", "predict one iteration under a schedule");
  add_scenario(*simulate_command, a);
  auto* schedule = simulate_command->add_option("--schedule", a.schedule, "Schedule as JSON");
  auto* planner =
      simulate_command->add_option("--planner", a.planner, "or the planner that makes it");
  schedule->excludes(planner);
  simulate_command->add_option("--trace", a.trace,
                               "write a Chrome trace for Perfetto; - is stdout");
  simulate_command->add_flag("--timeline", a.timeline, "print the timeline instead of the summary");
  simulate_command->add_flag("--fits", a.fits, "say on stderr which fits the prediction rests on");
  add_format(*simulate_command, a);
  simulate_command->footer(
      "Example:\n  moe-tune simulate --model box-small --cluster box --planner pipemoe --trace "
      "trace.json");
  simulate_command->callback([&] {
    if (a.schedule.empty() && a.planner.empty()) {
      throw CLI::RequiredError("--schedule or --planner");
    }
    code = simulate_schedule(a, argc, argv);
  });

  auto* compare_command =
      app.add_subcommand("compare", "predict what each planner makes of a model");
  add_scenario(*compare_command, a);
  a.planners = "sequential,tutel,pipemoe";
  compare_command->add_option("--planners", a.planners, "comma-separated")->capture_default_str();
  add_format(*compare_command, a);
  compare_command->footer(
      "Example:\n  moe-tune compare --model box-small --cluster measured --db results.db "
      "--planners sequential,tutel:4,pipemoe");
  compare_command->callback([&] { code = compare(a); });

  auto* study_command = app.add_subcommand(
      "study", "profile, predict every candidate, run the best for real, store it all");
  StudyOptions& s = a.study;
  study_command->add_option("name", s.name, "name of the study")->required();
  study_command
      ->add_option("--model", a.scenario.model, "name in experiments/models, or a TOML file")
      ->required();
  study_command
      ->add_option("--db", a.scenario.database, "result database; made where there is none")
      ->required();
  study_command->add_option("--ranks", a.scenario.ranks, "ranks of every run [1]");
  study_command->add_option("--expert-ranks", a.scenario.expert_ranks,
                            "ranks that share one set of experts [all]");
  study_command->add_option("--planners", a.planners, "whose candidates to try")
      ->capture_default_str();
  study_command->add_option("--most-chunks", s.most_chunks, "largest degree that is tried")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  study_command
      ->add_option("--top", a.top, "how many of the best by prediction run for real, or all")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool number = !text.empty() && text.size() < 7 &&
                                text.find_first_not_of("0123456789") == std::string::npos &&
                                std::stoi(text) > 0;
            return number || text == "all" ? std::string() : "a number of 1 or more, or all";
          },
          ""))
      ->type_name("K|all")
      ->capture_default_str();
  study_command->add_option("--repeats", s.repeats, "runs of each, one after the other in turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  study_command->add_option("--steps", s.job.steps, "iterations of each run")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  study_command
      ->add_option("--memory-limit", s.job.memory_limit_bytes,
                   "bytes per rank, with K, M, G; what needs more is infeasible [none]")
      ->transform(CLI::AsSizeValue(false));
  study_command->add_option("--routing", s.routing,
                            "predict with this routing instead of what training routed");
  study_command->add_option("--trial-time-limit", s.trial_time_limit_s,
                            "seconds that one run may take [from its prediction]");
  study_command->add_option("--device", s.job.device, "where to compute")
      ->check(one_of({"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->capture_default_str();
  study_command->add_option("--threads", s.job.threads, "CPU threads per rank [moe-train's]");
  study_command->add_option("--seed", s.job.seed, "overrides the model's seed");
  study_command->add_option("--data", s.job.data, "what to train on [moe-train's]");
  study_command->add_flag("--resume", s.resume,
                          "continue a study that was interrupted; begin it where there is none");
  add_format(*study_command, a);
  study_command->footer(
      "Example:\n  moe-tune study first --model tiny --ranks 2 --db results.db --planners tutel "
      "--top all --repeats 5");
  study_command->callback([&] { code = study(a, argc, argv); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return code;
}

int exit_code(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const db::Error*>(&error)) return db::exit_code(*failure);
  if (dynamic_cast<const moe::TimeLimit*>(&error)) return 124;
  if (dynamic_cast<const moe::InputError*>(&error) ||
      dynamic_cast<const std::invalid_argument*>(&error) ||
      dynamic_cast<const std::out_of_range*>(&error)) {
    return 2;
  }
  return 1;
}

}  // namespace
}  // namespace tuner

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // `moe-tune ... | head` then ends by an error of write
  try {
    const int code = tuner::run(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) != 0 || !std::cout) {
      throw db::OutputError{errno == EPIPE, "cannot write the result"};
    }
    return code;
  } catch (const db::OutputError& error) {
    if (error.closed) return 0;
    std::cerr << "moe-tune: " << error.message << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "moe-tune: " << error.what() << '\n';
    return tuner::exit_code(error);
  }
}
