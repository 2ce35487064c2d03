#include "tuner/planners/lancet/lancet.h"

#include <fmt/format.h>

#include <algorithm>

#include "moe/program/start_rule.h"
#include "tuner/planners/lancet/forward_ranges.h"
#include "tuner/planners/lancet/weight_gradient_places.h"
#include "tuner/planners/pipeline_schedule.h"
#include "tuner/planners/situation_costs.h"

namespace tuner {

moe::Schedule lancet_schedule(const Situation& situation, LancetPasses passes) {
  moe::Schedule schedule = pipeline_schedule(situation.program, "lancet", {1, 1});
  if (passes.ranges) {
    for (const moe::PartitionRange& range : forward_ranges(situation, schedule)) {
      schedule.decisions.push_back(range);
    }
  }
  if (passes.weight_gradients) {
    append(schedule, weight_gradient_places(situation, schedule));
  }
  return schedule;
}

moe::Schedule plan_lancet(const Situation& situation, const PlannerOptions&) {
  return lancet_schedule(situation, {});
}

double lancet_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, program));
  const std::vector<std::vector<int>> waits = moe::waits_for(program);
  std::vector<double> end_s(program.ops.size(), 0);
  double computed_s = 0, communicated_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    double& last_s = program.ops[i].stream == moe::Stream::compute ? computed_s : communicated_s;
    double start_s = last_s;
    for (const int earlier : waits[i]) {
      start_s = std::max(start_s, end_s[static_cast<std::size_t>(earlier)]);
    }
    end_s[i] = last_s = start_s + seconds[i];
  }
  return std::max(computed_s, communicated_s);
}

std::vector<Candidate> lancet_candidates(const Situation& situation, const PlannerOptions&) {
  std::vector<Candidate> candidates;
  for (const LancetPasses passes :
       {LancetPasses{true, true}, LancetPasses{true, false}, LancetPasses{false, true}}) {
    candidates.push_back({"lancet",
                          fmt::format(R"({{"ranges": {}, "weight_gradients": {}}})", passes.ranges,
                                      passes.weight_gradients),
                          lancet_schedule(situation, passes)});
  }
  return candidates;
}

std::string lancet_remark(const Situation&, const PlannerOptions&, const moe::Schedule& schedule) {
  std::string ranges;
  for (const auto& range : moe::decisions_of<moe::PartitionRange>(schedule)) {
    ranges += fmt::format("{}layer {} in {} parts with {} ops before and {} behind",
                          ranges.empty() ? "" : ", ", range.layer, range.parts, range.ops_before,
                          range.ops_after);
  }
  return fmt::format("lancet: {}; {} weight gradients behind exchanges",
                     ranges.empty() ? "no range of forward is cut" : ranges,
                     moe::decisions_of<moe::PlaceWeightGradient>(schedule).size());
}

}  // namespace tuner
