#include "tuner/planners/micro_batch_order/pass_seconds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "moe/passes/separate_weight_gradients.h"

namespace tuner {

PipelineSeconds pipeline_seconds(const TimedProgram& timed) {
  const moe::Program& program = timed.program;
  const std::vector<bool> apart = moe::separate_weight_gradients(program);
  PipelineSeconds seconds{std::vector<PassSeconds>(static_cast<std::size_t>(program.stages))};
  std::vector<double> once(seconds.stages.size(), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    const auto stage = static_cast<std::size_t>(op.stage);
    const double share = timed.alone_s[i] / program.micro_batches;
    PassSeconds& passes = seconds.stages[stage];
    if (moe::comes_once(op)) {
      once[stage] += timed.alone_s[i];
    } else if (std::holds_alternative<moe::PassOn>(op.kind)) {
      seconds.pass_on = std::max(seconds.pass_on, timed.alone_s[i]);
    } else if (op.phase == moe::Phase::forward) {
      passes.forward += share;
    } else {
      (apart[i] ? passes.weight_gradient : passes.backward) += share;
    }
  }
  seconds.once = std::ranges::max(once);
  return seconds;
}

moe::OrderMicroBatches with_times(moe::OrderMicroBatches ordering, const PipelineSeconds& seconds,
                                  int chunks) {
  constexpr double longest_pass = 1000;  // in a schedule, so that small differences are seen
  double longest_s = 0;
  for (const PassSeconds& one : seconds.stages) {
    longest_s = std::max({longest_s, one.forward, one.backward, one.weight_gradient});
  }
  if (longest_s == 0) return ordering;
  const auto units = [&](double some_s) {
    return static_cast<std::int64_t>(std::llround(some_s / longest_s * longest_pass));
  };
  for (const PassSeconds& one : seconds.stages) {
    ordering.times.push_back({units(one.forward / chunks), units(one.backward / chunks),
                              units(one.weight_gradient / chunks)});
  }
  ordering.pass_on_time = units(seconds.pass_on);
  return ordering;
}

}  // namespace tuner
