#include "tuner/planners/two_batch/two_batch.h"

#include <algorithm>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

bool pairs_micro_batches(const Situation& situation) {
  return situation.program.micro_batches > 1 && situation.program.stages == 1;
}

}  // namespace

moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions&) {
  if (!pairs_micro_batches(situation)) return {"two_batch", {}};
  moe::Schedule schedule = pipeline_schedule(situation.program, "two_batch", {1, 1});
  schedule.decisions.push_back(moe::OrderMicroBatches{moe::MicroBatchOrder::interleaved});
  return schedule;
}

double two_batch_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, program));
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

std::vector<Candidate> two_batch_candidates(const Situation& situation,
                                            const PlannerOptions& options) {
  if (!pairs_micro_batches(situation)) return {};
  return {{"two_batch", "{}", plan_two_batch(situation, options)}};
}

}  // namespace tuner
