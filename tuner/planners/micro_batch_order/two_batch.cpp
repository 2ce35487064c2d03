#include "tuner/planners/micro_batch_order/two_batch.h"

#include <algorithm>
#include <utility>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions&) {
  const moe::Program& program = situation.program;
  if (program.micro_batches < 2 || program.stages > 1) return {"two_batch", {}};
  moe::Schedule schedule = pipeline_schedule(program, "two_batch", {1, 1});
  schedule.decisions.push_back(moe::OrderMicroBatches{moe::MicroBatchOrder::interleaved});
  return schedule;
}

std::vector<Candidate> two_batch_candidates(const Situation& situation,
                                            const PlannerOptions& options) {
  moe::Schedule schedule = plan_two_batch(situation, options);
  if (schedule.decisions.empty()) return {};
  return {{std::move(schedule), "{}"}};
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
