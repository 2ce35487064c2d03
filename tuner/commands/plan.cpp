#include "db/output_file.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"

namespace tuner {

int plan(const Arguments& arguments) {
  db::refuse_database_as_output(arguments.output, arguments.scenario.database);
  PlannerRequest request = parse_planner(arguments.planner);
  request.options.most_chunks = arguments.most_chunks;
  const Scenario scenario = load_scenario(arguments.scenario);
  const Situation situation = scenario.situation();
  const moe::Schedule schedule = request.planner->plan(situation, request.options);
  moe::apply(scenario.program, schedule);  // a plan that is not legal is no plan
  if (request.planner->remark) {
    warn(request.planner->remark(situation, request.options, schedule));
  }
  db::write_output(arguments.output, moe::to_json(schedule) + '\n');
  return 0;
}

}  // namespace tuner
