#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string>

#include "db/console/launcher.h"
#include "db/console/options.h"
#include "tuner/commands/declare.h"

namespace tuner {
namespace {

namespace options = db::options;

CLI::Validator how_many_of_the_best() {
  const auto check = [](const std::string& text) {
    const bool number = !text.empty() && text.size() < 7 &&
                        text.find_first_not_of("0123456789") == std::string::npos &&
                        std::stoi(text) > 0;
    return number || text == "all" || text == "each"
               ? std::string()
               : "expected a number of 1 or more, all, or each";
  };
  return {check, ""};
}

void declare_scenario(CLI::App& command, Arguments& arguments) {
  add_model(command, arguments);
  command.get_option("--set")->description(
      "another value for a key of the model, as in moe.experts=64; may come several times. Several "
      "values, as in moe.experts=8,16, are a sweep: a study for each combination of values, one "
      "after another, each named \"NAME moe.experts=8\"");
  options::add_database(command, arguments.scenario.database,
                        "where everything is stored; created where there is none");
  command.get_option("--db")->required()->group("Scenario");
  command
      .add_option("--ranks", arguments.scenario.ranks,
                  "how many ranks each run has [default: 1, the slots of --hostfile, or the tasks "
                  "of a Slurm allocation]")
      ->check(options::whole_number(1, options::kMostRanks))
      ->type_name("N")
      ->group("Scenario");
  add_layout(command, arguments);
  StudyOptions& study = arguments.study;
  command
      .add_option("--routing", study.routing,
                  "predict with this routing [default: what training routes]")
      ->type_name("ROUTING")
      ->group("Scenario");
  command.add_option("--data", study.job.data, "what to train on [default: as moe-train]")
      ->type_name("FILE")
      ->group("Scenario");
  command.add_option("--seed", study.job.seed, "use this seed instead of the model's")
      ->check(options::whole_number(0))
      ->type_name("N")
      ->group("Scenario");
}

void declare_candidates(CLI::App& command, Arguments& arguments) {
  const char* const group = "Candidates";
  StudyOptions& study = arguments.study;
  command
      .add_option("--planners", arguments.planners,
                  "try the candidates of these planners, with commas between them")
      ->capture_default_str()
      ->type_name("PLANNERS")
      ->group(group);
  add_given(command, study.given, "every candidate is also tried on top of it");
  command.get_option("--given")->group(group);
  add_most_chunks(command, study.most_chunks);
  command.get_option("--most-chunks")->group(group);
  command
      .add_option("--top", arguments.top,
                  "run the K candidates with the best prediction; all: run all; each: run the "
                  "best of each planner")
      ->check(how_many_of_the_best())
      ->type_name("K|all|each")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--memory-limit", study.job.memory_limit_bytes,
                  "how much memory the tensors of a rank may take: bytes, or with K, M, G or T; a "
                  "candidate that needs more is infeasible")
      ->transform(options::size_in_bytes())
      ->type_name("SIZE")
      ->group(group);
  command
      .add_option("--micro-profile-steps", study.micro_profile_steps,
                  "let mpmoe_pb choose by runs of N iterations each, after warm-up; 0: it chooses "
                  "by simulation")
      ->check(options::whole_number(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
}

void declare_runs(CLI::App& command, StudyOptions& study) {
  const char* const group = "Runs";
  command
      .add_option("--repeats", study.repeats,
                  "run each candidate N times on average, in turns; after two repeats, those that "
                  "are tied with the fastest go first")
      ->check(options::whole_number(1, 1000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  command.add_option("--steps", study.job.steps, "how many iterations each run has")
      ->check(options::whole_number(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--profile-rounds", study.profile_rounds,
                  fmt::format("how often each schedule runs to learn costs; more rounds tell "
                              "better what changes with time [default: as the study was begun, or "
                              "{}]",
                              kProfileRounds))
      ->check(options::whole_number(1, 100))
      ->type_name("N")
      ->group(group);
  command
      .add_option("--most-of-others", study.most_of_others,
                  fmt::format("run again, up to twice, where other processes had more than this "
                              "share of the processors; 1: never [default: as the study was "
                              "begun, or {}]",
                              kUsualOthers))
      ->check(options::share())
      ->type_name("SHARE")
      ->group(group);
  command
      .add_option("--refine", study.refinements,
                  "after all runs, fit costs to what they took, plan again and run what is new "
                  "among the best; up to N times, while that finds a faster one [default: as the "
                  "study was begun, or 0]")
      ->check(options::whole_number(0, 100))
      ->type_name("N")
      ->group(group);
  command
      .add_option("--trial-time-limit", study.trial_time_limit_s,
                  "how many seconds a run may take [default: from its prediction]")
      ->check(options::seconds())
      ->type_name("S")
      ->group(group);
  options::add_launcher(command, study.job.launcher, group);
  options::add_device(command, study.job.device, "where to compute");
  command.get_option("--device")->group(group);
  command
      .add_option("--threads", study.job.threads,
                  "how many CPU threads a rank computes with [default: as moe-train]")
      ->check(options::whole_number(1, options::kMostThreads))
      ->type_name("N")
      ->group(group);
  command
      .add_option(
          "--copy-gbps", study.job.copy_gbps,
          "with --device cpu: how many Gbit/s the link carries to the memory that schedules "
          "offload to [default: as fast as memory is]")
      ->check(options::gigabits_per_second())
      ->type_name("GBPS")
      ->group(group);
}

/// How long a text such as "2h", "90m" or "45" is, in seconds.
CLI::Validator duration() {
  const auto to_seconds = [](std::string& text) -> std::string {
    std::size_t end = 0;
    double number = -1;
    try {
      number = std::stod(text, &end);
    } catch (const std::logic_error&) {  // said below
    }
    const std::string unit = text.substr(std::min(end, text.size()));
    const double factor = unit.empty() || unit == "s" ? 1
                          : unit == "m"               ? 60
                          : unit == "h"               ? 3600
                          : unit == "d"               ? 86400
                                                      : 0;
    const double seconds = number * factor;
    if (!(seconds > 0) || seconds > options::kMostSeconds) {
      return "expected a time such as 90s, 30m, 2h or 1d";
    }
    text = fmt::format("{}", seconds);
    return "";
  };
  return {to_seconds, ""};
}

void declare_process(CLI::App& command, StudyOptions& study) {
  const char* const group = "Process";
  CLI::Option* const resume =
      command
          .add_flag("--resume", study.resume,
                    "continue a study that was interrupted, or go on with more planners or "
                    "repeats; begin it where there is none")
          ->group(group);
  command
      .add_flag("--retry-failed", study.retry_failed,
                "with --resume: also try again what ran out of memory, hung, crashed or failed")
      ->needs(resume)
      ->group(group);
  command
      .add_option("--budget", study.budget_s,
                  "begin no run that would end after this time, as in 90s, 30m or 2h; --resume "
                  "goes on [default: any time]")
      ->transform(duration())
      ->type_name("TIME")
      ->group(group);
  command
      .add_flag("--dry-run", study.dry_run,
                "print what would be run, and how long that takes; nothing is run or written")
      ->group(group);
}

}  // namespace

void declare_study(CLI::App& app, Arguments& arguments, Action& action) {
  CLI::App* command = app.add_subcommand(
      "study", "profile, predict every candidate, run the best for real, and store it all");
  command->add_option("NAME", arguments.study.name, "what the study is called")
      ->required()
      ->check(options::not_empty())
      ->type_name("");
  declare_scenario(*command, arguments);
  declare_candidates(*command, arguments);
  declare_runs(*command, arguments.study);
  declare_process(*command, arguments.study);
  options::add_output(*command, arguments.output);
  options::set_footer(*command,
                      "moe-tune study degrees --model tiny --ranks 2 --db results.db \\\n"
                      "  --planners tutel --top all --repeats 5\n"
                      "moe-tune study degrees --model tiny --ranks 2 --db results.db \\\n"
                      "  --planners tutel,fsmoe --resume --budget 2h\n"
                      "moe-tune study experts --model tiny --ranks 2 --db results.db \\\n"
                      "  --set moe.experts=4,8 --top each",
                      "In its table waiting_s is how long a rank's communications waited, in a "
                      "measured iteration, for the last rank of their group, and transfer_s the "
                      "rest of them, also what computation hid (mean over ranks). moe-db why says "
                      "what was exposed, and who was waited for.");
  command->callback(
      [&] { action = [&](int argc, char** argv) { return study(arguments, argc, argv); }; });
}

}  // namespace tuner
