#include <optional>
#include <utility>

#include "db/output_file.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/given.h"

namespace tuner {

int plan(const Arguments& arguments) {
  db::refuse_database_as_output(arguments.output, arguments.scenario.database);
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  Scenario scenario = load_scenario(arguments.scenario);
  const moe::Program whole = scenario.program;
  std::optional<Given> given;
  if (!arguments.given.empty()) {
    given = load_given(arguments.given.front(), whole);
    scenario.program = given->program;
  }
  const Situation situation = scenario.situation();
  moe::Schedule schedule = request.planner->plan(situation, request.options);
  const std::string remark =
      request.planner->remark ? request.planner->remark(situation, request.options, schedule) : "";
  if (given) {
    schedule = join(std::move(schedule), *given, whole);
  } else {
    moe::check_applies(whole, schedule, "");  // a plan that is not legal is no plan
  }
  if (!remark.empty()) warn(remark);
  warn_of_other_results(schedule);
  db::write_output(arguments.output, moe::to_json(schedule) + '\n');
  return 0;
}

}  // namespace tuner
