#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "db/console/help_text.h"
#include "db/console/options.h"
#include "db/console/run_program.h"
#include "moe/communicator/mpi_job.h"
#include "moe/errors.h"
#include "tuner/commands/declare.h"
#include "tuner/planners/planners.h"

namespace {

const char* const kExamples =
    "moe-tune clusters\n"
    "moe-tune fit --db results.db\n"
    "moe-tune search --model mixtral-7b --cluster fsmoe-testbed-a\n"
    "moe-tune plan --model box-small --cluster box --planner pipemoe -o s.json\n"
    "moe-tune simulate --model box-small --cluster box --schedule s.json\n"
    "moe-tune compare --model box-small --cluster box --routing zipf:1.2\n"
    "moe-tune study first --model tiny --ranks 2 --db results.db --top 3\n"
    "moe-tune study first --model tiny --ranks 2 --db results.db --top 3 --resume";

/// "  name   about", with the lines of `about` below each other.
std::string entry(std::string_view name, std::size_t widest, const std::string& about) {
  const std::size_t begin = widest + 4;  // the column where texts begin
  return fmt::format("\n  {:{}}  {}", name, widest, db::wrapped(about, begin, begin));
}

std::string planner_list() {
  std::size_t widest = 0;
  // By key of an option, which may mean something of its own to some planners: who takes it so.
  std::map<std::string_view, std::map<std::string_view, std::vector<std::string_view>>> meanings;
  for (const tuner::Planner& planner : tuner::planners()) {
    widest = std::max(widest, planner.name.size());
    for (const tuner::PlannerOption& option : planner.options) {
      widest = std::max(widest, option.key.size());
      meanings[option.key][option.meaning].push_back(planner.name);
    }
  }
  std::string text = "Planners, with their options (NAME:KEY=VALUE):";
  for (const tuner::Planner& planner : tuner::planners()) {
    const std::string options = tuner::options_text(planner);
    text += entry(planner.name, widest,
                  options.empty() ? std::string(planner.description)
                                  : fmt::format("{} ({})", planner.description, options));
  }
  text += "\n\nOptions of planners, with their default values in brackets:";
  for (const auto& [key, planners_by_meaning] : meanings) {
    for (const auto& [meaning, planners] : planners_by_meaning) {
      const bool is_shared = planners_by_meaning.size() == 1;
      text += entry(key, widest,
                    is_shared ? std::string(meaning)
                              : fmt::format("of {}; {}", fmt::join(planners, ", "), meaning));
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Costs, predictions, schedules and tuning studies of Mixture-of-Experts training.",
               "moe-tune");
  db::options::set_up_program(app, kExamples, planner_list());
  app.require_subcommand(1);
  tuner::Arguments arguments;
  tuner::Action action;
  tuner::declare_fit(app, arguments, action);
  tuner::declare_search(app, arguments, action);
  tuner::declare_plan(app, arguments, action);
  tuner::declare_simulate(app, arguments, action);
  tuner::declare_compare(app, arguments, action);
  tuner::declare_study(app, arguments, action);
  tuner::declare_shipped_files(app, arguments, action);
  return db::run_program(
      app, argc, argv,
      [&] {
        moe::refuse_several_tasks("moe-tune");
        moe::leave_mpi_job();
        return action(argc, argv);
      },
      moe::exit_code);
}
