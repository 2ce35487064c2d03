#include "tuner/planners/micro_batch_order/micro_batch_order.h"

#include <algorithm>
#include <string>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

moe::Schedule through_stages(const Situation& situation, std::string planner,
                             moe::MicroBatchOrder order) {
  moe::Schedule schedule{std::move(planner), {}};
  if (situation.program.micro_batches < 2) return schedule;
  schedule.decisions.push_back(moe::OrderMicroBatches{order});
  if (situation.program.stages > 1) {
    schedule.decisions.push_back(moe::StreamAssignment{"pass_on", moe::Stream::inter_node});
  }
  return schedule;
}

}  // namespace

moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions&) {
  return through_stages(situation, "gpipe", moe::MicroBatchOrder::gpipe);
}

moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions&) {
  return through_stages(situation, "one_f_one_b", moe::MicroBatchOrder::one_f_one_b);
}

moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions&) {
  const moe::Program& program = situation.program;
  if (program.micro_batches < 2 || program.stages > 1) return {"two_batch", {}};
  moe::Schedule schedule = pipeline_schedule(program, "two_batch", {1, 1});
  schedule.decisions.push_back(moe::OrderMicroBatches{moe::MicroBatchOrder::interleaved});
  return schedule;
}

double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, seconds] = timed(situation, schedule);
  std::vector<double> passes(static_cast<std::size_t>(program.stages)), once = passes;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    (moe::comes_once(op) ? once : passes)[op.stage] += seconds[i];
  }
  const double each = *std::max_element(passes.begin(), passes.end()) / program.micro_batches;
  return (program.micro_batches + program.stages - 1) * each +
         *std::max_element(once.begin(), once.end());
}

double two_batch_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, seconds] = timed(situation, schedule);
  double computing = 0, exchanging = 0, once = 0;  // sums over both passes of all micro-batches
  double first = 0, last = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::comes_once(op)) {
      once += seconds[i];
      continue;
    }
    (moe::exchanges_rows(op) ? exchanging : computing) += seconds[i];
    if (op.phase == moe::Phase::forward && op.micro_batch == 0) first += seconds[i];
    if (op.phase == moe::Phase::backward && op.micro_batch + 1 == program.micro_batches) {
      last += seconds[i];
    }
  }
  const double pairs = static_cast<double>(program.micro_batches - 1) / program.micro_batches;
  return first + pairs * std::max(computing, exchanging) + last + once;
}

}  // namespace tuner
