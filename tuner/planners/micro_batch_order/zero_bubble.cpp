#include "tuner/planners/micro_batch_order/zero_bubble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "moe/passes/separate_weight_gradients.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The seconds of the passes of one micro-batch in a stage.
struct PassSeconds {
  double forward = 0, backward = 0, weight_gradient = 0;
  double all() const { return forward + backward + weight_gradient; }
};

struct PipelineSeconds {
  std::vector<PassSeconds> stages;
  double pass_on = 0;  ///< the longest way from a stage to another
  double once = 0;     ///< what comes once in an iteration, on the stage where it takes longest
};

/// The order's own waiting does not count: every op takes the time that it takes alone.
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

/// The longest pass has this time in a schedule, so that small differences are seen.
constexpr double kLongestPass = 1000;

/// The order for passes that take as long as these.
moe::OrderMicroBatches with_times(moe::OrderMicroBatches ordering, const PipelineSeconds& seconds) {
  double longest_s = 0;
  for (const PassSeconds& one : seconds.stages) {
    longest_s = std::max({longest_s, one.forward, one.backward, one.weight_gradient});
  }
  if (longest_s == 0) return ordering;
  const auto units = [&](double some_s) {
    return static_cast<std::int64_t>(std::llround(some_s / longest_s * kLongestPass));
  };
  for (const PassSeconds& one : seconds.stages) {
    ordering.times.push_back({units(one.forward), units(one.backward), units(one.weight_gradient)});
  }
  ordering.pass_on_time = units(seconds.pass_on);
  return ordering;
}

const moe::OrderMicroBatches* zero_bubble_order(const moe::Schedule& schedule) {
  for (const moe::Decision& decision : schedule.decisions) {
    const auto* ordering = std::get_if<moe::OrderMicroBatches>(&decision);
    if (ordering != nullptr && ordering->order == moe::MicroBatchOrder::zero_bubble) {
      return ordering;
    }
  }
  return nullptr;
}

/// The order says 0 for the memory of 1F1B.
int memory_of(const moe::OrderMicroBatches& ordering) { return ordering.in_flight == 0 ? 1 : 2; }

}  // namespace

std::vector<Candidate> zero_bubble_candidates(const Situation& situation,
                                              const PlannerOptions& options) {
  const moe::Program& program = situation.program;
  std::vector<Candidate> candidates;
  if (program.micro_batches < 2 || program.stages < 2) return candidates;
  const PipelineSeconds seconds = pipeline_seconds(timed(situation, {}));
  const auto asked = asked_for(options, kZeroBubbleMemory);
  for (const int h : {1, 2}) {
    if (asked && *asked != h) continue;
    moe::OrderMicroBatches equal{moe::MicroBatchOrder::zero_bubble};
    if (h == 2) equal.in_flight = 2 * program.stages;
    for (const moe::OrderMicroBatches& ordering : {equal, with_times(equal, seconds)}) {
      moe::Schedule schedule{"zero_bubble",
                             {ordering, moe::StreamAssignment{std::string(moe::PassOn::facts.name),
                                                              moe::Stream::inter_node}}};
      std::string parameters = zero_bubble_parameters(schedule);
      candidates.push_back({std::move(schedule), std::move(parameters)});
    }
  }
  return candidates;
}

moe::Schedule plan_zero_bubble(const Situation& situation, const PlannerOptions& options) {
  std::vector<Candidate> tried = zero_bubble_candidates(situation, options);
  if (tried.empty()) return {"zero_bubble", {}};
  const auto fits = [&](const Candidate& one) { return fits_memory(situation, one.schedule); };
  const auto too_large = std::stable_partition(tried.begin(), tried.end(), fits);
  if (too_large != tried.begin()) tried.erase(too_large, tried.end());
  return fastest_simulated(situation, std::move(tried)).schedule;
}

std::string zero_bubble_parameters(const moe::Schedule& schedule) {
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  if (ordering == nullptr) return "{}";
  return fmt::format(R"({{"h": {}, "times": "{}"}})", memory_of(*ordering),
                     ordering->times.empty() ? "equal" : "predicted");
}

double zero_bubble_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const TimedProgram program = timed(situation, schedule);
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  const int h = ordering == nullptr ? 1 : memory_of(*ordering);
  const PipelineSeconds seconds = pipeline_seconds(program);
  const PassSeconds fullest = std::ranges::max(seconds.stages, {}, &PassSeconds::all);
  const double bubble =
      std::max(fullest.forward, fullest.forward + fullest.backward - h * fullest.weight_gradient);
  return program.program.micro_batches * fullest.all() + (program.program.stages - 1) * bubble +
         seconds.once;
}

}  // namespace tuner
