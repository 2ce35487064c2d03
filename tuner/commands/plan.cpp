#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "db/output_file.h"
#include "moe/errors.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"

namespace tuner {
namespace {

struct Given {
  std::string file;
  moe::Schedule schedule;
};

/// The planner, whose own decisions are `own` where nothing is given, could not go on from what is: `why`.
[[noreturn]] void refuse(const Given& given, const moe::Schedule& own, const Planner& planner,
                         const std::string& why) {
  for (const moe::Decision& decision : given.schedule.decisions) {
    const auto same = std::ranges::find(own.decisions, moe::subject_of(decision), moe::subject_of);
    if (same == own.decisions.end()) continue;
    throw moe::InputError(
        fmt::format("{}: {}: planner {} decides that too, as {}: leave it out of the file, or plan "
                    "with another planner",
                    given.file, moe::to_json(decision), planner.name, moe::to_json(*same)));
  }
  throw moe::InputError(fmt::format(
      "{}: planner {} cannot go on from it: {}: leave out of the file what stands in its way, or "
      "plan with another planner",
      given.file, planner.name, why));
}

}  // namespace

int plan(const Arguments& arguments) {
  db::refuse_database_as_output(arguments.output, arguments.scenario.database);
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  const Scenario whole = load_scenario(arguments.scenario);
  Scenario scenario = whole;
  Given given{arguments.given, {}};
  if (!given.file.empty()) {
    given.schedule = moe::load_schedule(given.file);
    moe::check_applies(whole.program, given.schedule, given.file);
    scenario.program = moe::apply(whole.program, given.schedule);
  }
  const Situation situation = scenario.situation();
  moe::Schedule schedule;
  std::string remark;
  try {
    schedule = request.planner->plan(situation, request.options);
    if (request.planner->remark) {
      remark = request.planner->remark(situation, request.options, schedule);
    }
    schedule.decisions.insert(schedule.decisions.end(), given.schedule.decisions.begin(),
                              given.schedule.decisions.end());
    moe::apply(whole.program, schedule);  // a plan that is not legal is no plan
  } catch (const std::invalid_argument& error) {
    if (given.file.empty()) throw;
    refuse(given, request.planner->plan(whole.situation(), request.options), *request.planner,
           error.what());
  }
  if (!remark.empty()) warn(remark);
  warn_of_other_results(schedule);
  db::write_output(arguments.output, moe::to_json(schedule) + '\n');
  return 0;
}

}  // namespace tuner
