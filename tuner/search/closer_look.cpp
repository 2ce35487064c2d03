#include "tuner/search/closer_look.h"

#include <limits>
#include <utility>

#include "moe/errors.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/search/candidate_bounds.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

/// From so many on, it saves time to look first whether one of them fits.
constexpr int kManyMicroBatches = 4;
/// A planner says nothing of its own: the search does.
constexpr double kSilentPlanner_s = std::numeric_limits<double>::infinity();

constexpr const char* kOneMicroBatch = "one micro-batch exceeds the memory of a rank";
constexpr const char* kPlan = "the planned peak exceeds the memory of a rank";

template <class Seconds>
double median_s(const std::vector<ProgramCosts>& costs, const Seconds& seconds_of) {
  std::vector<double> seconds;
  for (const ProgramCosts& of_iteration : costs) seconds.push_back(seconds_of(of_iteration));
  return seconds[median_place(seconds)];
}

/// The time of a schedule that its planner simulated.
std::optional<double> known_seconds(const PlanMemory& memory, const moe::Schedule& schedule) {
  const auto found = memory.simulated.find(moe::decisions_json(schedule));
  if (found == memory.simulated.end() || found->second.empty()) return std::nullopt;
  return found->second[median_place(found->second)];
}

/// One candidate, looked at.
class CloserLook {
 public:
  CloserLook(SearchedSetups& searched, SearchCandidate& one)
      : searched_(searched),
        one_(one),
        setup_(searched.space.setups[one.setup]),
        known_(searched.known[one.setup]) {}

  void run(double next_s) {
    if (one_.known == Known::layout) {
      one_.out = refusal_of_costs(searched_, one_.setup);
      if (!one_.out.empty()) return;
      one_.least_s = std::max(one_.least_s, bound_of_pieces(searched_, one_));
      one_.known = Known::pieces;
      if (one_.least_s > next_s) return;
    }
    if (one_.known == Known::pieces && !one_micro_batch_fits()) {
      one_.out = kOneMicroBatch;
      return;
    }
    const auto fewer = fewer_of(searched_, one_.setup, *one_.order);
    const Scenario scenario = searched_.of_setup(setup_, predicted_model(searched_, setup_, fewer));
    Situation situation = scenario.situation();
    PlanMemory& memory = known_.memory[scenario.model.micro_batches];
    situation.memory = &memory;
    PlanningProgress silent("search", {}, kSilentPlanner_s);
    situation.progress = &silent;
    if (one_.known == Known::pieces) {
      one_.schedule = ordered(situation);
      if (one_.sharded) {
        auto sharded = with_sharded_optimizer(scenario.program, one_.schedule);
        if (!sharded) {
          one_.out = "the order is not legal with shard_optimizer";
          return;
        }
        one_.schedule = std::move(*sharded);
      }
    }
    moe::Program program = moe::apply(scenario.program, one_.schedule);
    std::optional<double> seconds = known_seconds(memory, one_.schedule);
    std::vector<ProgramCosts> costs;
    if (!seconds) costs = judged_costs(situation, program);
    if (one_.known == Known::pieces && !fewer) {
      one_.least_s =
          std::max(one_.least_s, seconds ? *seconds : median_s(costs, [&](const ProgramCosts& of) {
                     return lower_bound(program, of, situation.cluster).seconds();
                   }));
      one_.known = Known::program;
      if (one_.least_s > next_s) return;
    }
    if (!fits_memory(situation, one_.schedule, &program)) {
      auto lighter = restored(situation);
      if (!lighter) {
        one_.out = kPlan;
        return;
      }
      one_.schedule = std::move(*lighter);
      program = moe::apply(scenario.program, one_.schedule);
      costs = judged_costs(situation, program);
      seconds.reset();
    }
    if (!seconds) {
      seconds = median_s(costs, [&](const ProgramCosts& of) {
        return simulate(program, of, situation.costs, situation.cluster).duration_s;
      });
    }
    one_.least_s = fewer ? seconds_of_all(setup_, *fewer, few_s(*fewer), *seconds) : *seconds;
    one_.known = Known::time;
  }

 private:
  /// Whether one micro-batch of the setup fits with all that lightens it: by the least that it
  /// needs, then, where there are many and orders cannot cut stages otherwise, by its plan. Asked
  /// once a setup.
  bool one_micro_batch_fits() const {
    const std::int64_t limit = searched_.memory_bytes();
    if (limit == 0) return true;
    if (known_.one_fits) return *known_.one_fits;
    bool fits = least_bytes(searched_.model, setup_, searched_.costs.costed.cluster) <= limit;
    if (fits && setup_.micro_batches >= kManyMicroBatches && setup_.layout.pipeline == 1) {
      const Scenario one =
          searched_.of_setup(setup_, with_so_many_micro_batches(searched_.model, setup_, 1));
      Situation situation = one.situation();
      PlanMemory memory;
      situation.memory = &memory;
      const auto lighter = lighter_schedule(situation, {});
      fits = !lighter || lighter->fits;
    }
    known_.one_fits = fits;
    return fits;
  }

  /// The schedule of the candidate's order, planned once for the setup.
  moe::Schedule ordered(const Situation& situation) {
    if (const auto found = known_.ordered.find(one_.order); found != known_.ordered.end()) {
      return found->second;
    }
    moe::Schedule schedule = one_.order->plan != nullptr ? one_.order->plan(situation, {})
                                                         : plan_with(*one_.order, situation, {});
    return known_.ordered.emplace(one_.order, std::move(schedule)).first->second;
  }

  /// The candidate's schedule with blocks restored so that it fits; none where none of them is
  /// enough, or where it is the candidate with shard_optimizer that comes next. How many blocks is
  /// found with as few micro-batches as stages have under way, and then tried with all of them.
  std::optional<moe::Schedule> restored(const Situation& situation) const {
    if (!one_.sharded && with_sharded_optimizer(situation.program, one_.schedule)) {
      return std::nullopt;
    }
    const int under_way = 2 * setup_.layout.pipeline;
    if (situation.program.micro_batches > under_way) {
      const Scenario few = searched_.of_setup(
          setup_, with_so_many_micro_batches(searched_.model, setup_, under_way));
      auto lighter = lighter_schedule(few.situation(), one_.schedule);
      if (lighter && !lighter->fits) return std::nullopt;
      if (lighter && fits_memory(situation, lighter->schedule)) return lighter->schedule;
    }
    auto lighter = lighter_schedule(situation, one_.schedule);
    if (!lighter || !lighter->fits) return std::nullopt;
    return std::move(lighter->schedule);
  }

  /// The time of the fewer of the two numbers of micro-batches.
  double few_s(const FewerMicroBatches& fewer) const {
    const Scenario few =
        searched_.of_setup(setup_, with_so_many_micro_batches(searched_.model, setup_, fewer.few));
    Situation situation = few.situation();
    PlanningProgress silent("search", {}, kSilentPlanner_s);
    situation.progress = &silent;
    return simulated_s(situation, one_.schedule);
  }

  SearchedSetups& searched_;
  SearchCandidate& one_;
  const TrainingSetup& setup_;
  KnownOfSetup& known_;
};

}  // namespace

void look_closer(SearchedSetups& searched, SearchCandidate& one, double next_s) {
  try {
    CloserLook(searched, one).run(next_s);
  } catch (const moe::Refusal& refusal) {
    one.out = without_numbers(refusal.what());
  }
}

std::optional<FewerMicroBatches> fewer_of(SearchedSetups& searched, std::size_t setup_index,
                                          const Planner& order) {
  const TrainingSetup& setup = searched.space.setups[setup_index];
  std::size_t& ops = searched.known[setup_index].ops_of_one;
  if (ops == 0) {
    const moe::Model one = with_so_many_micro_batches(searched.model, setup, 1);
    ops = searched.of_setup(setup, one).program.ops.size();
  }
  return fewer_micro_batches(setup, order.passes, ops);
}

moe::Model predicted_model(const SearchedSetups& searched, const TrainingSetup& setup,
                           const std::optional<FewerMicroBatches>& fewer) {
  return fewer ? with_so_many_micro_batches(searched.model, setup, fewer->more)
               : with_setup(searched.model, setup);
}

}  // namespace tuner
