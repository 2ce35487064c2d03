#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/console/version.h"
#include "db/identity.h"
#include "moe/errors.h"
#include "tuner/commands/commands.h"
#include "tuner/planners/planners.h"

namespace tuner {
namespace {

// --- command line ------------------------------------------------------------------------------

void add_format(CLI::App& command, Arguments& a) {
  command.add_option("--format", a.format, "how rows are written")
      ->check(db::options::one_of({"table", "csv", "json"}))
      ->type_name("table|csv|json")
      ->capture_default_str();
  command.add_option("--color", a.color, "colours of a table; NO_COLOR is honoured")
      ->check(db::options::one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never")
      ->capture_default_str();
}

void add_scenario(CLI::App& command, Arguments& a,
                  const std::string& database = "result database that holds what measured means") {
  command.add_option("--model", a.scenario.model, "name in experiments/models, or a TOML file")
      ->required();
  command
      .add_option("--cluster", a.scenario.cluster,
                  "name in experiments/clusters, a TOML file, or measured (with --db)")
      ->required();
  command.add_option("--db", a.scenario.database, database);
  command.add_option("--ranks", a.scenario.ranks, "ranks [all of the cluster]")
      ->check(db::options::whole_number(1, db::options::kMostRanks));
  command.add_option("--layout", a.scenario.layout, moe::kLayoutHelp);
  command
      .add_option("--routing", a.scenario.routing,
                  "uniform, zipf:EXPONENT, or a file with a Routing as JSON")
      ->capture_default_str();
  command.add_option("--most-chunks", a.most_chunks, "largest degree that planners try")
      ->check(db::options::whole_number(1, 64))
      ->capture_default_str();
}

void add_given(CLI::App& command, std::vector<std::string>& given, const std::string& what) {
  command
      .add_option("--given", given,
                  "Schedule as JSON whose decisions stand: " + what + "; may come several times")
      ->allow_extra_args(false);
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
             "Exit codes: 0 done, 1 a run failed, 2 wrong use or wrong file, 124 time limit, "
             "128 + N ended by signal N.");
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
  plan_command
      ->add_option("--given", a.given,
                   "Schedule as JSON whose decisions stand: the planner goes on from them")
      ->expected(1);
  plan_command->add_option("-o,--output", a.output, "the file to write; - is stdout")
      ->capture_default_str();
  plan_command->footer(
      "Example:\n  moe-tune plan --model box-small --cluster box --planner tutel:4 -o "
      "schedule.json");
  plan_command->callback([&] { code = plan(a); });

  auto* simulate_command = app.add_subcommand("simulate", "predict one iteration under a schedule");
  add_scenario(*simulate_command, a,
               "result database: holds what measured means, else keeps the predicted timeline");
  auto* schedule = simulate_command->add_option("--schedule", a.schedule, "Schedule as JSON");
  auto* planner =
      simulate_command->add_option("--planner", a.planner, "or the planner that makes it");
  schedule->excludes(planner);
  simulate_command->add_option("--trace", a.trace,
                               "write a Chrome trace for Perfetto; - is stdout");
  simulate_command->add_flag("--timeline", a.timeline, "print the timeline instead of the summary");
  simulate_command->add_flag("--fits", a.fits, "say on stderr which fits the prediction rests on");
  auto* memory = simulate_command->add_flag(
      "--memory", a.memory, "print what arenas hold over time instead of the summary");
  memory->excludes(simulate_command->get_option("--timeline"));
  simulate_command
      ->add_option(
          "--iterations", a.iterations,
          "simulate so many in a row, nothing between them, too: how long the middle one takes")
      ->check(db::options::one_of({"1", "3", "5"}))
      ->type_name("1|3|5")
      ->capture_default_str();
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
  compare_command->add_flag("--candidates", a.candidates,
                            "a row for each candidate of a planner, not its choice alone");
  add_given(*compare_command, a.given, "planners go on from them, beside their own plans");
  add_format(*compare_command, a);
  compare_command->footer(
      "Example:\n  moe-tune compare --model box-small --cluster measured --db results.db "
      "--planners sequential,tutel:4,pipemoe");
  compare_command->callback([&] { code = compare(a); });

  auto* study_command = app.add_subcommand(
      "study", "profile, predict every candidate, run the best for real, store it all");
  StudyOptions& s = a.study;
  study_command->add_option("name", s.name, "name of the study")
      ->required()
      ->check(db::options::not_empty());
  study_command
      ->add_option("--model", a.scenario.model, "name in experiments/models, or a TOML file")
      ->required();
  study_command
      ->add_option("--db", a.scenario.database, "result database; made where there is none")
      ->required()
      ->check(db::options::not_empty());
  study_command->add_option("--ranks", a.scenario.ranks, "ranks of every run [1]")
      ->check(db::options::whole_number(1, db::options::kMostRanks));
  study_command->add_option("--layout", a.scenario.layout, moe::kLayoutHelp);
  study_command->add_option("--planners", a.planners, "whose candidates to try")
      ->capture_default_str();
  add_given(*study_command, s.given, "every candidate is tried with them too");
  study_command->add_option("--most-chunks", s.most_chunks, "largest degree that is tried")
      ->check(db::options::whole_number(1, 64))
      ->capture_default_str();
  study_command
      ->add_option(
          "--top", a.top,
          "how many of the best by prediction run for real; all; or each planner's best: each")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool number = !text.empty() && text.size() < 7 &&
                                text.find_first_not_of("0123456789") == std::string::npos &&
                                std::stoi(text) > 0;
            return number || text == "all" || text == "each"
                       ? std::string()
                       : "a number of 1 or more, all, or each";
          },
          ""))
      ->type_name("K|all")
      ->capture_default_str();
  study_command->add_option("--repeats", s.repeats, "runs of each, one after the other in turn")
      ->check(db::options::whole_number(1, 1000))
      ->capture_default_str();
  study_command->add_option("--steps", s.job.steps, "iterations of each run")
      ->check(db::options::whole_number(1, 1'000'000))
      ->capture_default_str();
  study_command
      ->add_option("--memory-limit", s.job.memory_limit_bytes,
                   "bytes per rank, with K, M, G; what needs more is infeasible [none]")
      ->transform(db::options::size_in_bytes());
  study_command
      ->add_option("--copy-gbps", s.job.copy_gbps,
                   "with --device cpu: Gbit/s of copies that schedules offload by [as memory is]")
      ->check(db::options::gigabits_per_second());
  study_command
      ->add_option("--micro-profile-steps", s.micro_profile_steps,
                   "iterations, behind warm-up, of each run that mpmoe_pb chooses by; 0 = it "
                   "chooses by simulation")
      ->check(db::options::whole_number(0, 1'000'000))
      ->capture_default_str();
  study_command
      ->add_option("--profile-rounds", s.profile_rounds,
                   fmt::format("how often each schedule is run to learn costs, in turns: more tell "
                               "better what changes meanwhile [as the study was begun; {}]",
                               kProfileRounds))
      ->check(db::options::whole_number(1, 100));
  study_command
      ->add_option(
          "--most-of-others", s.most_of_others,
          fmt::format("share of the processors that other processes may have during a run: "
                      "with more it is made again, three times in all; 1 = never [as the "
                      "study was begun; {}]",
                      kUsualOthers))
      ->check(db::options::share());
  study_command->add_option("--routing", s.routing,
                            "predict with this routing instead of what training routed");
  study_command
      ->add_option("--trial-time-limit", s.trial_time_limit_s,
                   "seconds that one run may take [from its prediction]")
      ->check(db::options::seconds());
  study_command->add_option("--device", s.job.device, "where to compute")
      ->check(db::options::one_of({"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->capture_default_str();
  study_command->add_option("--threads", s.job.threads, "CPU threads per rank [moe-train's]")
      ->check(db::options::whole_number(1, db::options::kMostThreads));
  study_command->add_option("--seed", s.job.seed, "overrides the model's seed")
      ->check(db::options::whole_number(0));
  study_command->add_option("--data", s.job.data, "what to train on [moe-train's]");
  study_command->add_flag("--resume", s.resume,
                          "continue a study that was interrupted; begin it where there is none");
  add_format(*study_command, a);
  study_command->footer(
      "Example:\n  moe-tune study degrees --model tiny --ranks 2 --db results.db --planners tutel "
      "--top all --repeats 5");
  study_command->callback([&] { code = study(a, argc, argv); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return code;
}

}  // namespace
}  // namespace tuner

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // `moe-tune ... | head` then ends by an error of write
  try {
    return db::flushed(tuner::run(argc, argv));
  } catch (const db::OutputError& error) {
    if (error.closed()) return 0;
    std::cerr << "moe-tune: " << error.what() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "moe-tune: " << error.what() << '\n';
    return moe::exit_code(error);
  }
}
