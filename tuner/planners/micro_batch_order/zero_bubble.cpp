#include "tuner/planners/micro_batch_order/zero_bubble.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/micro_batch_order/pass_seconds.h"
#include "tuner/planners/micro_batch_order/stage_cuts.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

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

/// Blocks in stages as they are, and cut so that stages take as equally long as they can.
std::vector<moe::Schedule> placings_of_blocks(const Situation& situation) {
  const int stages = situation.program.stages;
  const moe::PlaceBlocks by_time =
      chunks_in_turn(cuts_by_time(block_seconds(situation), stages), stages);
  std::vector<moe::Schedule> placings{{"zero_bubble", {}}};
  if (by_time.stages != moe::stages_of_blocks(situation.program)) {
    placings.push_back({"zero_bubble", {by_time}});
  }
  return placings;
}

}  // namespace

std::vector<Candidate> zero_bubble_candidates(const Situation& situation,
                                              const PlannerOptions& options) {
  const moe::Program& program = situation.program;
  std::vector<Candidate> candidates;
  if (program.micro_batches < 2 || program.stages < 2) return candidates;
  const std::vector<moe::Schedule> placings = placings_of_blocks(situation);
  std::vector<PipelineSeconds> seconds;
  for (const moe::Schedule& placed : placings) {
    seconds.push_back(pipeline_seconds(timed(situation, placed)));
  }
  const auto asked = asked_for(options, kZeroBubbleMemory);
  for (const int h : {1, 2}) {
    if (asked && *asked != h) continue;
    moe::OrderMicroBatches equal{moe::MicroBatchOrder::zero_bubble};
    if (h == 2) equal.in_flight = 2 * program.stages;
    for (std::size_t i = 0; i < placings.size(); ++i) {
      for (const moe::OrderMicroBatches& ordering : {equal, with_times(equal, seconds[i])}) {
        moe::Schedule schedule = placings[i];
        schedule.decisions.push_back(ordering);
        schedule.decisions.push_back(
            moe::StreamAssignment{std::string(moe::PassOn::facts.name), moe::Stream::inter_node});
        std::string parameters = zero_bubble_parameters(schedule);
        candidates.push_back({std::move(schedule), std::move(parameters)});
      }
    }
  }
  return candidates;
}

namespace {

/// The fastest of those that fit the memory of a rank, or of all; the empty schedule of none.
moe::Schedule fastest_that_fits(const Situation& situation, std::string planner,
                                std::vector<Candidate> tried) {
  if (tried.empty()) return {std::move(planner), {}};
  const auto fits = [&](const Candidate& one) { return fits_memory(situation, one.schedule); };
  const auto too_large = std::stable_partition(tried.begin(), tried.end(), fits);
  if (too_large != tried.begin()) tried.erase(too_large, tried.end());
  return fastest_simulated(situation, std::move(tried)).schedule;
}

}  // namespace

moe::Schedule plan_zero_bubble(const Situation& situation, const PlannerOptions& options) {
  return fastest_that_fits(situation, "zero_bubble", zero_bubble_candidates(situation, options));
}

std::string zero_bubble_parameters(const moe::Schedule& schedule) {
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  if (ordering == nullptr) return "{}";
  const std::string stages = stages_json(schedule);
  return fmt::format(R"({{"h": {}, "times": "{}"{}}})", memory_of(*ordering),
                     ordering->times.empty() ? "equal" : "predicted",
                     stages == "{}" ? "" : ", " + stages.substr(1, stages.size() - 2));
}

namespace {

/// m passes of the fullest stage, what comes once, and a bubble for each stage but the first.
double with_bubbles(const Situation& situation, const moe::Schedule& schedule, const auto& bubble) {
  const TimedProgram program = timed(situation, schedule);
  const PipelineSeconds seconds = pipeline_seconds(program);
  const PassSeconds fullest = std::ranges::max(seconds.stages, {}, &PassSeconds::all);
  return program.program.micro_batches * fullest.all() +
         (program.program.stages - 1) * bubble(fullest) + seconds.once;
}

/// The stages of a V of so many blocks.
moe::PlaceBlocks in_a_v(int blocks, int stages) {
  // The two in the middle are one, that of the last stage.
  const std::vector<int> chunks = equal_cuts(blocks, std::min(2 * stages, blocks));
  moe::PlaceBlocks placing;
  for (int chunk = 0; chunk < static_cast<int>(chunks.size()); ++chunk) {
    placing.stages.insert(placing.stages.end(),
                          static_cast<std::size_t>(chunks[static_cast<std::size_t>(chunk)]),
                          std::min(chunk, static_cast<int>(chunks.size()) - 1 - chunk));
  }
  return placing;
}

}  // namespace

double zero_bubble_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  const int h = ordering == nullptr ? 1 : memory_of(*ordering);
  return with_bubbles(situation, schedule, [&](const PassSeconds& t) {
    return std::max(t.forward, t.forward + t.backward - h * t.weight_gradient);
  });
}

std::vector<Candidate> zero_bubble_v_candidates(const Situation& situation,
                                                const PlannerOptions& options) {
  const moe::Program& program = situation.program;
  const int stages = program.stages,
            blocks = static_cast<int>(moe::stages_of_blocks(program).size());
  std::vector<Candidate> candidates;
  if (program.micro_batches < 2 || stages < 2 || blocks < 2 * stages - 1) return candidates;
  const moe::PlaceBlocks placing = in_a_v(blocks, stages);
  if (!moe::is_legal(program, {"zero_bubble_v", {placing}})) return candidates;  // a tied head
  PipelineSeconds seconds = pipeline_seconds(timed(situation, {"zero_bubble_v", {placing}}));
  for (PassSeconds& stage : seconds.stages) {
    if (&stage == &seconds.stages.back()) break;  // its chunk is both
    stage = {stage.forward / 2, stage.backward / 2, stage.weight_gradient / 2};
  }
  const auto asked = asked_for(options, kVInFlight);
  std::vector<int> limits{stages};
  if (stages / 2 + 1 < stages) limits.push_back(stages / 2 + 1);
  if (asked) limits = {static_cast<int>(*asked)};
  for (const int in_flight : limits) {
    const moe::OrderMicroBatches equal{moe::MicroBatchOrder::zero_bubble, in_flight};
    for (const moe::OrderMicroBatches& ordering : {equal, with_times(equal, seconds)}) {
      moe::Schedule schedule{
          "zero_bubble_v",
          {placing, ordering,
           moe::StreamAssignment{std::string(moe::PassOn::facts.name), moe::Stream::inter_node}}};
      std::string parameters = zero_bubble_v_parameters(schedule);
      candidates.push_back({std::move(schedule), std::move(parameters)});
    }
  }
  return candidates;
}

moe::Schedule plan_zero_bubble_v(const Situation& situation, const PlannerOptions& options) {
  return fastest_that_fits(situation, "zero_bubble_v",
                           zero_bubble_v_candidates(situation, options));
}

std::string zero_bubble_v_parameters(const moe::Schedule& schedule) {
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  if (ordering == nullptr) return "{}";
  // Not the name of the option, which is among the parameters where it was asked for.
  return fmt::format(R"({{"kept": {}, "times": "{}"}})", ordering->in_flight,
                     ordering->times.empty() ? "equal" : "predicted");
}

double zero_bubble_v_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::OrderMicroBatches* ordering = zero_bubble_order(schedule);
  const bool is_half = ordering != nullptr && ordering->in_flight < situation.program.stages;
  return with_bubbles(situation, schedule,
                      [&](const PassSeconds& t) { return (is_half ? t.all() : t.forward) / 2; });
}

}  // namespace tuner
