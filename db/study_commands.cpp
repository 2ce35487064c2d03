#include "db/study_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db/best_trial.h"
#include "db/compared_studies.h"
#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/load.h"
#include "db/output_place.h"

namespace db {
namespace {

struct StudyArguments {
  std::string path;
  options::Output output;
  std::string first, second;
  bool anyway = false;
  std::int64_t trial = 0;
  std::string file;
};

std::string repeats_in_words(const BestTrial& best) {
  if (!best.min_repeat_s || !best.max_repeat_s) return "no repeats";
  if (best.repeats == 1) return "1 repeat";
  return fmt::format("{} repeats, {} to {}", best.repeats,
                     format_cell("measured_s", *best.min_repeat_s),
                     format_cell("measured_s", *best.max_repeat_s));
}

void print_best(const BestTrial& best) {
  fmt::print("study {}: {} {}, trial {}\n", escaped(best.study), escaped(best.planner),
             escaped(best.parameters), best.trial);
  fmt::print("  {} an iteration ({})", format_cell("measured_s", best.measured_s),
             repeats_in_words(best));
  if (best.speedup) {
    fmt::print(", {} over {}", format_cell("speedup", *best.speedup),
               escaped(best.speedup_against));
    if (best.least_speedup && best.most_speedup && *best.least_speedup < *best.most_speedup) {
      fmt::print(" (95%: {} to {})", format_cell("speedup", *best.least_speedup),
                 format_cell("speedup", *best.most_speedup));
    }
  }
  fmt::print("\n  {}\n", escaped(how_sure(best)));
  if (!best.hosts.empty()) {
    fmt::print("  on {}{}\n", escaped(best.hosts),
               best.network.empty() ? "" : ", " + escaped(best.network));
  }
  for (const std::string& command : best.commands) fmt::print("    {}\n", escaped(command));
}

int best(const StudyArguments& arguments) {
  const auto connection = open_reader(arguments.path);
  const std::vector<BestTrial> found = best_trials(connection, arguments.first, arguments.path);
  const Style style = arguments.output.style(stdout);
  if (style.format == Format::table) {
    for (const BestTrial& one : found) print_best(one);
    return kExitDone;
  }
  RowWriter writer(
      stdout, style,
      {"study",           "model",      "ranks",        "trial",          "planner",
       "parameters",      "measured_s", "speedup",      "least_speedup",  "most_speedup",
       "speedup_against", "repeats",    "min_repeat_s", "max_repeat_s",   "tied_with",
       "how_sure",        "hosts",      "network",      "export_command", "train_command"});
  for (const BestTrial& one : found) {
    writer.row({one.study,
                text_cell(one.model),
                std::int64_t{one.ranks},
                one.trial,
                one.planner,
                one.parameters,
                one.measured_s,
                optional_cell(one.speedup),
                optional_cell(one.least_speedup),
                optional_cell(one.most_speedup),
                text_cell(one.speedup_against),
                std::int64_t{one.repeats},
                optional_cell(one.min_repeat_s),
                optional_cell(one.max_repeat_s),
                text_cell(one.tied_with),
                how_sure(one),
                text_cell(one.hosts),
                text_cell(one.network),
                one.commands.at(0),
                one.commands.at(1)});
  }
  writer.finish();
  return kExitDone;
}

int compare(const StudyArguments& arguments) {
  const auto connection = open_reader(arguments.path);
  const std::vector<ComparedTrial> trials =
      compare_studies(connection, arguments.first, arguments.second);
  const auto differences = differences_between(connection, arguments.first, arguments.second);
  if (!differences.empty() && !arguments.anyway) {
    throw Error(ErrorKind::invalid, fmt::format("{}: {}; --anyway compares them all the same",
                                                arguments.path, fmt::join(differences, "; ")));
  }
  for (const std::string& difference : differences) spdlog::warn("{}", difference);
  const Style style = arguments.output.style(stdout);
  RowWriter writer(stdout, style,
                   {"planner", "parameters", "first_s", "second_s", "ratio", "least_ratio",
                    "most_ratio", "verdict", "first_repeats", "second_repeats"});
  for (const ComparedTrial& one : trials) {
    writer.row({one.planner, one.parameters, optional_cell(one.first_s),
                optional_cell(one.second_s), optional_cell(one.ratio),
                optional_cell(one.least_ratio), optional_cell(one.most_ratio), one.verdict,
                std::int64_t{one.first_repeats}, std::int64_t{one.second_repeats}});
  }
  writer.finish();
  return kExitDone;
}

int export_trial_schedule(const StudyArguments& arguments) {
  const auto connection = open_reader(arguments.path);
  refuse_database_as_output(arguments.file, arguments.path);
  expect_output(arguments.file);
  const Trial trial = load_trial(connection, arguments.trial);
  auto schedule = nlohmann::json::parse(load_schedule(connection, trial.schedule_id).json);
  schedule["planner"] = trial.planner;  // the row is shared by all who decide alike
  write_output(arguments.file, schedule.dump(2) + "\n");
  spdlog::info("the schedule of trial {}: {} {}", trial.id, trial.planner, trial.parameters_json);
  return kExitDone;
}

using SharedStudy = std::shared_ptr<StudyArguments>;

CLI::App& add_study_command(CLI::App& app, const std::string& name, const std::string& description,
                            const SharedStudy& arguments) {
  CLI::App* command = app.add_subcommand(name, description);
  options::add_database(*command, arguments->path, "the database to read");
  command->get_option("--db")->required();
  return *command;
}

}  // namespace

void add_study_commands(CLI::App& app, std::function<int()>& action) {
  const auto of_best = std::make_shared<StudyArguments>();
  CLI::App& best_command = add_study_command(
      app, "best", "print the fastest trial of a study, and the command that trains with it",
      of_best);
  options::add_output(best_command, of_best->output);
  best_command.add_option("STUDY", of_best->first, "its name [default: all studies]")
      ->type_name("");
  options::set_footer(best_command, "moe-db best quickstart --db results.db",
                      "Trials are compared by the iterations in which they took turns; how "
                      "sure it is that the first is the fastest stands below its time.");
  best_command.callback([of_best, &action] { action = [of_best] { return best(*of_best); }; });

  const auto of_two = std::make_shared<StudyArguments>();
  CLI::App& compare_command =
      add_study_command(app, "compare-studies", "compare two studies, trial by trial", of_two);
  options::add_output(compare_command, of_two->output);
  compare_command.add_option("FIRST", of_two->first, "a study")->required()->type_name("");
  compare_command.add_option("SECOND", of_two->second, "the study to set against it")
      ->required()
      ->type_name("");
  compare_command.add_flag(
      "--anyway", of_two->anyway,
      "compare also where machine class, network, model, ranks, layout or settings differ");
  options::set_footer(
      compare_command, "moe-db compare-studies monday friday --db results.db",
      "ratio: how many times as long the second study's repeats took, of the same planner and "
      "parameters; geometric means. least_ratio and most_ratio: the interval of 95% by Welch's "
      "test. verdict: slower or faster where it leaves out 1.\n"
      "Studies of two files: moe-db merge a.db b.db -o both.db first.");
  compare_command.callback([of_two, &action] { action = [of_two] { return compare(*of_two); }; });
}

void add_export_schedule(CLI::App& formats, std::function<int()>& action) {
  const auto arguments = std::make_shared<StudyArguments>();
  CLI::App& command = add_study_command(
      formats, "schedule", "write the schedule of a trial as JSON that moe-train --schedule reads",
      arguments);
  command.add_option("--trial", arguments->trial, "the trial")->required()->type_name("ID");
  command.add_option("-o,--output", arguments->file, "the file to write; - is stdout")
      ->required()
      ->type_name("FILE");
  options::set_footer(command, "moe-db export schedule --db results.db --trial 7 -o s.json",
                      "Then: moe-train --model tiny --ranks 4 --schedule s.json");
  command.callback(
      [arguments, &action] { action = [arguments] { return export_trial_schedule(*arguments); }; });
}

}  // namespace db
