#include "tuner/planners/micro_batch_order/micro_batch_order.h"

#include <algorithm>
#include <string>

#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

moe::Schedule ordered(const Situation& situation, std::string planner, moe::MicroBatchOrder order) {
  moe::Schedule schedule{std::move(planner), {}};
  if (situation.program.micro_batches < 2) return schedule;
  schedule.decisions.push_back(moe::OrderMicroBatches{order});
  if (situation.program.stages > 1) {
    schedule.decisions.push_back(moe::StreamAssignment{"pass_on", moe::Stream::inter_node});
  }
  return schedule;
}

std::vector<Candidate> only(const Situation& situation, moe::Schedule schedule) {
  if (situation.program.micro_batches < 2) return {};
  return {{schedule.planner, "{}", schedule}};
}

}  // namespace

moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions&) {
  return ordered(situation, "gpipe", moe::MicroBatchOrder::gpipe);
}

moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions&) {
  return ordered(situation, "one_f_one_b", moe::MicroBatchOrder::one_f_one_b);
}

double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, program));
  std::vector<double> passes(static_cast<std::size_t>(program.stages)), once = passes;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    (moe::comes_once(op) ? once : passes)[op.stage] += seconds[i];
  }
  const double each = *std::max_element(passes.begin(), passes.end()) / program.micro_batches;
  return (program.micro_batches + program.stages - 1) * each +
         *std::max_element(once.begin(), once.end());
}

std::vector<Candidate> gpipe_candidates(const Situation& situation, const PlannerOptions& options) {
  return only(situation, plan_gpipe(situation, options));
}

std::vector<Candidate> one_f_one_b_candidates(const Situation& situation,
                                              const PlannerOptions& options) {
  return only(situation, plan_one_f_one_b(situation, options));
}

}  // namespace tuner
