#include "tuner/planners/joint/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "tuner/planners/gradients/placed_gradients.h"
#include "tuner/planners/gradients/weight_gradient_places.h"
#include "tuner/planners/joint/joint_search.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner {
namespace {

/// The most spans that a search simulates, so that it ends within about ten seconds. It has
/// kFewestTried tries in any case.
constexpr std::int64_t kMostSpans = 800'000;
constexpr int kUsualTriedFrom = 24;
using Neighbours = std::function<std::vector<moe::Schedule>(const moe::Schedule&)>;
constexpr int kFewestTried = 40, kUsualMostTried = 600;

int most_tried(const Situation& situation, const PlannerOptions& options) {
  const auto spans = static_cast<std::int64_t>(situation.program.ops.size()) *
                     moe::rank_count(situation.groups.layout);
  const auto usual = std::clamp<std::int64_t>(kMostSpans / std::max<std::int64_t>(spans, 1),
                                              kFewestTried, kUsualMostTried);
  return whole_value_of(options, kMostTried, static_cast<int>(usual));
}

/// A schedule that is so much slower than the best one in the typical iteration is not simulated in
/// the others.
constexpr double kFarSlower = 1.05;

/// Simulates every iteration of the situation under a schedule (JointProblem::judge). The cost of
/// moving experts to other homes is shared among `iterations`.
std::optional<Judgement> judged(const Situation& situation, const PlannerOptions& options,
                                const moe::Schedule& schedule, const Judgement& to_beat = {}) {
  try {
    const moe::Program program = moe::apply(situation.program, schedule);
    if (!fits_memory(situation, schedule, &program)) return std::nullopt;
    double moving_s = 0;
    if (options.iterations > 0) {
      moving_s = move_cost(situation, homes_under(schedule)).seconds / options.iterations;
    }
    Judgement found;
    if (judged_iterations(situation).size() > 1) {
      found.typical_s = simulated_typical_s(situation, program) + moving_s;
      if (found.typical_s > kFarSlower * to_beat.typical_s) return std::nullopt;
    }
    const std::vector<double> seconds = simulated_iterations_s(situation, schedule, &program);
    found.seconds = seconds[median_place(seconds)] + moving_s;
    found.worst_s = std::ranges::max(seconds) + moving_s;
    return found;
  } catch (const moe::Refusal&) {
    return std::nullopt;
  }
}

/// The candidates of other planners, and lighter ones where they need more memory than a rank has.
/// One that refuses the situation is left out; any other error is a bug in the planner and is
/// passed on with its name.
std::vector<moe::Schedule> seeds(Situation situation, const PlannerOptions& options,
                                 std::span<const Planner> others) {
  situation.measure = nullptr;  // the search simulates, so its seeds are chosen by simulation too
  PlannerOptions for_others = options;
  for_others.asked.clear();
  for_others.most_chunks = most_chunks(options);
  std::vector<moe::Schedule> schedules;
  for (const Planner& planner : others) {
    if (planner.name == kJoint) continue;
    try {
      for (Candidate& candidate : candidates_of(planner, situation, for_others)) {
        schedules.push_back(std::move(candidate.schedule));
        if (auto lighter = lighter_schedule(situation, schedules.back())) {
          schedules.push_back(std::move(lighter->schedule));
        }
      }
    } catch (const moe::Refusal&) {  // this planner has no seeds
    }
  }
  return schedules;
}

/// The chunks of a phase of a MoE layer.
int& chunks_of(moe::Schedule& schedule, int layer, moe::Phase phase) {
  for (moe::Decision& decision : schedule.decisions) {
    auto* split = std::get_if<moe::PipelineSplit>(&decision);
    if (split && split->layer == layer && split->phase == phase) return split->chunks;
  }
  schedule.decisions.push_back(moe::PipelineSplit{layer, phase, 1});
  return std::get<moe::PipelineSplit>(schedule.decisions.back()).chunks;
}

moe::Schedule without_single_chunks(moe::Schedule schedule) {
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    const auto* split = std::get_if<moe::PipelineSplit>(&decision);
    return split && split->chunks <= 1;
  });
  return schedule;
}

/// Schedules with one chunk more or less: in a phase of all layers, and in a phase of each layer.
/// None gets more than `most` chunks, for smaller ones have costs that nobody measured.
std::vector<moe::Schedule> other_chunks(const Situation& situation, const moe::Schedule& schedule,
                                        int most) {
  const std::vector<int> layers = moe_layers(situation.program);
  std::vector<std::vector<int>> together{layers};
  if (layers.size() > 1) {
    for (const int layer : layers) together.push_back({layer});
  }
  std::vector<moe::Schedule> result;
  for (const std::vector<int>& some : together) {
    for (const moe::Phase phase : {moe::Phase::forward, moe::Phase::backward}) {
      for (const int more : {1, -1}) {
        moe::Schedule changed = schedule;
        for (const int layer : some) {
          int& chunks = chunks_of(changed, layer, phase);
          chunks = std::clamp(chunks + more, 1, std::max(most, chunks));
        }
        result.push_back(without_single_chunks(std::move(changed)));
      }
    }
  }
  return result;
}

/// The schedule with weight gradients, all-reduces or both planned anew for its other decisions.
std::vector<moe::Schedule> gradients_anew(const Situation& situation,
                                          const moe::Schedule& schedule) {
  std::vector<moe::Schedule> result;
  const auto add = [&](const auto& plan) {
    try {
      result.push_back(plan());
    } catch (const moe::Refusal&) {  // this schedule does not allow them
    }
  };
  const auto places_anew = [&](moe::Schedule decided) {
    append(decided, weight_gradient_places(situation, decided));
    return decided;
  };
  const auto reductions_anew = [&](moe::Schedule decided, Fill fill) {
    decided.decisions.push_back(
        moe::StreamAssignment{std::string(moe::AllReduce::facts.name), moe::Stream::inter_node});
    return with_gradients_filled(unplaced_gradients(situation, std::move(decided)), fill);
  };
  add([&] { return places_anew(without(schedule, {Aspect::weight_gradients})); });
  for (const Fill fill : {Fill::all_of_backward, Fill::dense_parts}) {
    add([&] { return reductions_anew(without(schedule, {Aspect::gradients}), fill); });
    add([&] {
      return reductions_anew(
          places_anew(without(schedule, {Aspect::gradients, Aspect::weight_gradients})), fill);
    });
  }
  return result;
}

/// The seed with the least planned peak. It is the answer where none fits the memory of a rank.
moe::Schedule of_least_memory(const Situation& situation, const std::vector<moe::Schedule>& seeds) {
  moe::Schedule leanest;
  auto least_bytes = std::numeric_limits<std::int64_t>::max();
  for (const moe::Schedule& seed : seeds) {
    try {
      const std::int64_t bytes = planned_peak_bytes(situation, seed);
      if (bytes >= least_bytes) continue;
      least_bytes = bytes;
      leanest = seed;
    } catch (const moe::Refusal&) {  // this seed would not run
    }
  }
  return leanest;
}

/// The schedule with all MoE layers cut alike, 2 chunks or 4, and exchanges on a stream of their
/// own; and with shard_optimizer.
std::vector<moe::Schedule> cut_or_sharded(const Situation& situation, const moe::Schedule& schedule,
                                          int most) {
  std::vector<moe::Schedule> result;
  const auto streams = moe::decisions_of<moe::StreamAssignment>(schedule);
  for (int chunks = 2; chunks <= std::min(most, 4); chunks *= 2) {
    moe::Schedule cut = without(schedule, {Aspect::cuts});
    for (moe::Decision& decision :
         pipeline_schedule(situation.program, "", {chunks, chunks}).decisions) {
      const auto* stream = std::get_if<moe::StreamAssignment>(&decision);
      const bool is_there =
          stream != nullptr &&
          std::ranges::find(streams, stream->kind, &moe::StreamAssignment::kind) != streams.end();
      if (!is_there) cut.decisions.push_back(std::move(decision));
    }
    result.push_back(std::move(cut));
  }
  if (auto sharded = with_sharded_optimizer(situation.program, schedule)) {
    result.push_back(std::move(*sharded));
  }
  return result;
}

/// Judges as `situation` does, and plans gradients anew beside `more` neighbours.
JointProblem problem_of(const Situation& situation, const PlannerOptions& options,
                        std::vector<moe::Schedule> seeds, Neighbours more) {
  JointProblem problem;
  problem.seeds = std::move(seeds);
  problem.judge = [&](const moe::Schedule& schedule, const Judgement& to_beat) {
    return judged(situation, options, schedule, to_beat);
  };
  problem.neighbours = {std::move(more), [&](const moe::Schedule& schedule) {
                          return gradients_anew(situation, schedule);
                        }};
  return problem;
}

JointResult searched(const Situation& situation, const PlannerOptions& options,
                     std::span<const Planner> others) {
  JointProblem problem = problem_of(
      situation, options, seeds(situation, options, others), [&](const moe::Schedule& schedule) {
        return other_chunks(situation, schedule, most_chunks(options));
      });
  problem.most_tried = most_tried(situation, options);
  if (situation.progress != nullptr) {  // each is planned and simulated
    situation.progress->expect(
        2 * (problem.seeds.size() + static_cast<std::size_t>(problem.most_tried)));
  }
  if (auto found = search_jointly(problem)) return *found;
  JointResult leanest;
  leanest.schedule = of_least_memory(situation, problem.seeds);
  return leanest;
}

}  // namespace

moe::Schedule plan_joint(const Situation& situation, const PlannerOptions& options,
                         std::span<const Planner> others) {
  PlanMemory memory;  // of schedules that several planners try
  Situation remembering = situation;
  if (remembering.memory == nullptr) remembering.memory = &memory;
  moe::Schedule schedule = searched(remembering, options, others).schedule;
  schedule.planner = kJoint;
  return schedule;
}

moe::Schedule plan_joint_from(const Situation& situation, const PlannerOptions& options,
                              const moe::Schedule& start) {
  JointProblem problem =
      problem_of(situation, options, {start}, [&](const moe::Schedule& schedule) {
        return cut_or_sharded(situation, schedule, most_chunks(options));
      });
  problem.most_tried = whole_value_of(options, kMostTried, kUsualTriedFrom);
  const auto found = search_jointly(problem);
  moe::Schedule schedule = found ? found->schedule : start;
  schedule.planner = kJoint;
  return schedule;
}

std::string joint_remark(const Situation& situation, const PlannerOptions&,
                         const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  if (!fits_memory(situation, schedule, &program)) {
    return fmt::format(
        "joint: no schedule that it knows fits the {} of a rank's memory: this one needs least, "
        "{}, "
        "and was not chosen for its time",
        db::format_cell("bytes", situation.cluster.memory_bytes),
        db::format_cell("bytes", planned_peak_bytes(situation, schedule, &program)));
  }
  const std::vector<double> iterations_s = simulated_iterations_s(situation, schedule, &program);
  const std::size_t median = median_place(iterations_s);
  const double seconds = iterations_s[median];
  const ProgramCosts costs = judged_costs(situation, program)[median];
  const double bound = lower_bound(program, costs, situation.cluster).seconds();
  std::string text = fmt::format("joint: {:.4g} s, {:.1f}% above its lower bound of {:.4g} s",
                                 seconds, 100 * (seconds / bound - 1), bound);
  const auto seconds_of = [&](const moe::Schedule& other) {
    const auto found = judged(situation, {}, other);
    return found ? std::optional(found->seconds) : std::nullopt;
  };
  for (const auto& [aspect, with_it, without_s] : each_taken_away(schedule, seconds_of)) {
    text += fmt::format("; without {}", aspect_name(aspect));
    for (const Aspect other : with_it) text += fmt::format(" and {}", aspect_name(other));
    text += without_s
                ? fmt::format(": {:.4g} s ({:+.1f}%)", *without_s, 100 * (*without_s / seconds - 1))
                : ": not legal";
  }
  return text;
}

}  // namespace tuner
