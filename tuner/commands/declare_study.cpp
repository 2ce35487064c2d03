#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <string>
#include <type_traits>

#include "db/console/in_process.h"
#include "db/console/launcher.h"
#include "db/console/options.h"
#include "tuner/commands/declare.h"
#include "tuner/commands/since.h"
#include "tuner/study/study_settings.h"

namespace tuner {
namespace {

namespace options = db::options;

/// Of StudyOptions::top, which the words become.
CLI::Validator how_many_of_the_best() {
  const auto to_number = [](std::string& text) -> std::string {
    if (text == "all" || text == "each") {
      text = std::to_string(text == "all" ? kTopAll : kTopOfEachPlanner);
      return "";
    }
    const bool number = !text.empty() && text.size() < 7 &&
                        text.find_first_not_of("0123456789") == std::string::npos &&
                        std::stoi(text) > 0;
    return number ? "" : "expected a number of 1 or more, all, or each";
  };
  return {to_number, ""};
}

/// How long a text such as "2h", "90m" or "45" is, in seconds.
CLI::Validator duration() {
  const auto to_seconds = [](std::string& text) -> std::string {
    const bool has_unit = text.empty() || std::isdigit(text.back()) == 0;
    const auto seconds = parse_duration(has_unit ? text : text + "s");
    if (!seconds || *seconds <= 0 || *seconds > options::kMostSeconds) {
      return "expected a time such as 90s, 30m, 2h or 1d";
    }
    text = fmt::format("{}", *seconds);
    return "";
  };
  return {to_seconds, ""};
}

void set_range(CLI::Option& option, const SettingRange& range) {
  using Kind = SettingRange::Kind;
  switch (range.kind) {
    case Kind::flag:
      return;
    case Kind::whole:
      option.check(options::whole_number(range.least, range.most))->type_name("N");
      return;
    case Kind::share:
      option.check(options::share())->type_name("SHARE");
      return;
    case Kind::seconds:
      option.check(options::seconds())->type_name("S");
      return;
    case Kind::time:
      option.transform(duration())->type_name("TIME");
      return;
    case Kind::gigabits:
      option.check(options::gigabits_per_second())->type_name("GBPS");
      return;
    case Kind::size:
      option.transform(options::size_in_bytes())->type_name("SIZE");
      return;
    case Kind::best:
      option.transform(how_many_of_the_best())->type_name("K|all|each");
      return;
    case Kind::device:
      option.check(options::one_of({"cpu", "cuda"}))->type_name("cpu|cuda");
      return;
    case Kind::profile:
      option.check(options::one_of({kProfileOne, kProfileEach}))->type_name("one|each");
      return;
    case Kind::planners:
      option.type_name("PLANNERS");
      return;
    case Kind::routing:
      option.type_name("ROUTING");
      return;
    case Kind::files:
      option.type_name("FILE");
      return;
    case Kind::schedules:
      option.allow_extra_args(false)->type_name("FILE");
      return;
  }
}

/// A default of 0 or nothing is said in words.
template <class Value>
bool has_default(const Value& value) {
  if constexpr (std::is_same_v<Value, int>) return value != 0;
  if constexpr (std::is_same_v<Value, std::string>) return !value.empty();
  return false;
}

CLI::Option* add(CLI::App& command, const StudySetting& setting, Arguments& arguments) {
  const std::string name = option_of(setting), help = help_of(setting);
  return std::visit(
      [&](const auto& field) -> CLI::Option* {
        auto& value = field(arguments.study);
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return command.add_flag(name, value, help);
        } else if constexpr (std::is_same_v<Value, std::vector<PlannerRequest>>) {
          return command.add_option(name, arguments.study_planners, help)->capture_default_str();
        } else {
          CLI::Option* const option = command.add_option(name, value, help);
          return has_default(value) ? option->capture_default_str() : option;
        }
      },
      setting.field);
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
  add_layout(
      command, arguments,
      "the fastest that a search finds by the costs of --cluster or by those that --db holds; "
      "ep=all where there are none");
  command
      .add_option("--layouts", arguments.study_layouts,
                  "measure several layouts, whose rounds take turns: best:K, the K fastest that a "
                  "search finds; all that it finds; or layouts with / between them, as in "
                  "ep=4/dp=2,ep=2. --top is of each. Each is a study \"NAME dp=2,ep=2\"")
      ->excludes("--layout")
      ->check(db::options::not_empty())
      ->type_name("LAYOUTS")
      ->group("Scenario");
  command
      .add_option(
          "--cluster", arguments.scenario.cluster,
          "search layouts by the costs of this cluster: a name in experiments/clusters, or a "
          "TOML file [default: what --db holds]")
      ->type_name("NAME|FILE")
      ->group("Scenario");
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
  for (const StudySetting& setting : study_settings()) {
    CLI::Option* const option = add(*command, setting, arguments);
    set_range(*option, setting.range);
    option->group(setting.group);
  }
  command->get_option("--retry-failed")->needs(command->get_option("--resume"));
  options::add_launcher(*command, arguments.study.job.launcher, "Runs");
  options::add_in_process(*command, arguments.study.job.in_process, "Runs");
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
