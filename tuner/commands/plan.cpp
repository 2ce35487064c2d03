#include <spdlog/spdlog.h>

#include <set>
#include <string>

#include "db/console/output_file.h"
#include "db/output_place.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/given.h"

namespace tuner {
namespace {

void warn_of_memory(const Situation& situation, const moe::Schedule& schedule) {
  if (fits_memory(situation, schedule)) return;
  spdlog::warn(
      "the schedule needs {} bytes of a rank's memory, and cluster {} has {}; moe-tune simulate "
      "shows when",
      planned_peak_bytes(situation, schedule), situation.cluster.name,
      situation.cluster.memory_bytes);
}

}  // namespace

int plan(const Arguments& arguments) {
  db::refuse_database_as_output(arguments.schedule_file, arguments.scenario.database);
  db::expect_output(arguments.schedule_file);
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  std::set<std::string> said;
  Scenario scenario = load_said(arguments.scenario, said);
  moe::Schedule schedule;
  if (arguments.given.empty()) {
    schedule = plan_with(*request.planner, scenario.situation(), request.options);
    moe::check_applies(scenario.program, schedule, "");  // a plan that is not legal is refused
    warn_of_memory(scenario.situation(), schedule);
  } else {
    const Given given = load_given(arguments.given.front(), scenario.program);
    schedule = plan_from(given, *request.planner, request.options, scenario.situation());
    warn_of_memory(scenario.situation(), schedule);
    scenario.program = given.program;
  }
  const std::string remark =
      remark_of(*request.planner, scenario.situation(), request.options, schedule);
  if (!remark.empty()) spdlog::info(remark);
  warn_of_other_results(schedule);
  db::write_output(arguments.schedule_file, moe::to_json(schedule) + '\n');
  return 0;
}

}  // namespace tuner
