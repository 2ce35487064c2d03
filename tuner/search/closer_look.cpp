#include "tuner/search/closer_look.h"

#include <algorithm>
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
      bound_by_own_pieces(searched_, one_);
      if (!one_.out.empty()) return;
      if (one_.least_s > next_s) return;
    }
    if (one_.known == Known::pieces && !one_micro_batch_fits()) {
      one_.out = kOneMicroBatch;
      return;
    }
    if (const auto fewer = fewer_of(searched_, one_.setup, *one_.order)) {
      look_at_fewer(*fewer);
    } else {
      look_at_all(next_s);
    }
  }

 private:
  /// Whether the plan of one micro-batch of the setup fits, with all that lightens it. Asked once a
  /// setup, where there are many and orders cannot cut stages otherwise.
  bool one_micro_batch_fits() const {
    const bool is_asked = searched_.memory_bytes() > 0 && setup_.layout.pipeline == 1 &&
                          setup_.micro_batches >= kManyMicroBatches;
    if (!is_asked) return true;
    if (known_.one_fits) return *known_.one_fits;
    const Scenario one =
        searched_.of_setup(setup_, with_so_many_micro_batches(searched_.model, setup_, 1));
    Situation situation = one.situation();
    PlanMemory memory;
    situation.memory = &memory;
    const auto lighter = lighter_schedule(situation, {});
    known_.one_fits = !lighter || lighter->fits;
    return *known_.one_fits;
  }

  Situation remembering(const Scenario& scenario) {
    return remembered_situation(searched_, one_.setup, scenario, silent_);
  }

  void look_at_all(double next_s) {
    const Scenario scenario = searched_.of_setup(setup_, with_setup(searched_.model, setup_));
    const Situation situation = remembering(scenario);
    if (one_.known == Known::pieces && !take_order(situation)) return;
    moe::Program program = moe::apply(scenario.program, one_.schedule);
    std::optional<double> seconds = known_seconds(*situation.memory, one_.schedule);
    std::vector<ProgramCosts> costs;
    if (!seconds) costs = judged_costs(situation, program);
    if (one_.known == Known::pieces) {
      one_.least_s =
          std::max(one_.least_s, seconds ? *seconds : median_s(costs, [&](const ProgramCosts& of) {
                     return lower_bound(program, of, situation.cluster).seconds();
                   }));
      one_.known = Known::program;
      if (one_.least_s > next_s) return;
    }
    if (!fits_memory(situation, one_.schedule, &program)) {
      if (!take(restored(situation))) return;
      program = moe::apply(scenario.program, one_.schedule);
      costs = judged_costs(situation, program);
      seconds.reset();
    }
    if (!seconds) {
      seconds = median_s(costs, [&](const ProgramCosts& of) {
        return simulate(program, of, situation.costs, situation.cluster).duration_s;
      });
    }
    one_.least_s = *seconds;
    one_.known = Known::time;
  }

  /// The order is planned for the fewer of the two numbers.
  void look_at_fewer(const FewerMicroBatches& fewer) {
    const moe::Model& model = searched_.model;
    const Scenario few =
        searched_.of_setup(setup_, with_so_many_micro_batches(model, setup_, fewer.few));
    const Situation of_few = remembering(few);
    if (!some_cut_fits(of_few)) {
      one_.out = kPlan;
      return;
    }
    if (!take_order(of_few)) return;
    const Scenario more =
        searched_.of_setup(setup_, with_so_many_micro_batches(model, setup_, fewer.more));
    const Situation of_more = remembering(more);
    if (searched_.memory_bytes() > 0 && !fit_all(fewer, of_few, of_more)) return;
    one_.least_s = seconds_of_all(setup_, fewer, simulated_s(of_few, one_.schedule),
                                  simulated_s(of_more, one_.schedule));
    one_.known = Known::time;
  }

  /// Makes the candidate fit with all its micro-batches, by the memory of the fewer ones. False where
  /// it is left out.
  bool fit_all(const FewerMicroBatches& fewer, const Situation& of_few, const Situation& of_more) {
    const auto excess_of_all = [&](const moe::Schedule& schedule) {
      std::vector<std::int64_t> excess = excess_bytes(of_more, schedule);
      std::ranges::transform(excess_bytes(of_few, schedule), excess, excess.begin(),
                             [&](std::int64_t few, std::int64_t more) {
                               return bytes_of_all(setup_, fewer, few, more);
                             });
      return excess;
    };
    const std::vector<std::int64_t> as_it_is = excess_of_all(one_.schedule);
    if (std::ranges::max(as_it_is) <= 0) return true;
    if (comes_sharded_next(of_more)) return take(std::nullopt);
    // Mostly the others add as many bytes whatever is restored, and planning the few ones will do.
    const std::vector<std::int64_t> few_as_it_is = excess_bytes(of_few, one_.schedule);
    const auto about = [&](const moe::Schedule& schedule) {
      std::vector<std::int64_t> excess = excess_bytes(of_few, schedule);
      for (std::size_t stage = 0; stage < excess.size(); ++stage) {
        excess[stage] += as_it_is[stage] - few_as_it_is[stage];
      }
      return excess;
    };
    auto lighter = fitting(lighter_schedule(of_few.program, one_.schedule, about, nullptr));
    if (!lighter || std::ranges::max(excess_of_all(*lighter)) > 0) {
      lighter = fitting(lighter_schedule(of_more.program, one_.schedule, excess_of_all, nullptr));
    }
    return take(std::move(lighter));
  }

  /// Whether the order fits with any of its cuts into stages and all that lightens it: of a large
  /// Program that is known sooner than which cut is the fastest.
  bool some_cut_fits(const Situation& situation) const {
    if (searched_.memory_bytes() == 0 || one_.order->candidates == nullptr ||
        one_.order->passes != Passes::filled_and_drained) {
      return true;
    }
    const auto fits = [&](const Candidate& cut) {
      const bool comes_sharded =
          !one_.sharded && with_sharded_optimizer(situation.program, cut.schedule);
      if (comes_sharded) return fits_memory(situation, cut.schedule);
      // Whole blocks seldom need more than their dense layers.
      const auto lighter = lighter_schedules(situation.program, cut.schedule);
      return std::any_of(lighter.rbegin(), lighter.rend(), [&](const moe::Schedule& schedule) {
        return fits_memory(situation, schedule);
      });
    };
    return std::ranges::any_of(one_.order->candidates(situation, {}), fits);
  }

  /// Plans the candidate's order. False where it is left out.
  bool take_order(const Situation& situation) {
    one_.schedule = ordered(situation);
    if (!one_.sharded) return true;
    auto sharded = with_sharded_optimizer(situation.program, one_.schedule);
    if (sharded) {
      one_.schedule = std::move(*sharded);
    } else {
      one_.out = "the order is not legal with shard_optimizer";
    }
    return one_.out.empty();
  }

  /// The candidate is left out where there is no lighter schedule. False then.
  bool take(std::optional<moe::Schedule> lighter) {
    if (lighter) {
      one_.schedule = std::move(*lighter);
    } else {
      one_.out = kPlan;
    }
    return one_.out.empty();
  }

  /// Whether the candidate with shard_optimizer, which needs less memory, is still to come.
  bool comes_sharded_next(const Situation& situation) const {
    return !one_.sharded && with_sharded_optimizer(situation.program, one_.schedule);
  }

  static std::optional<moe::Schedule> fitting(std::optional<Lighter> lighter) {
    if (!lighter || !lighter->fits) return std::nullopt;
    return std::move(lighter->schedule);
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
    if (comes_sharded_next(situation)) return std::nullopt;
    const int under_way = 2 * setup_.layout.pipeline;
    if (situation.program.micro_batches > under_way) {
      const Scenario few = searched_.of_setup(
          setup_, with_so_many_micro_batches(searched_.model, setup_, under_way));
      auto lighter = lighter_schedule(few.situation(), one_.schedule);
      if (lighter && !lighter->fits) return std::nullopt;
      if (lighter && fits_memory(situation, lighter->schedule)) return lighter->schedule;
    }
    return fitting(lighter_schedule(situation, one_.schedule));
  }

  SearchedSetups& searched_;
  SearchCandidate& one_;
  const TrainingSetup& setup_;
  KnownOfSetup& known_;
  PlanningProgress silent_{"search", {}, kSilentPlanner_s};
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

Situation remembered_situation(SearchedSetups& searched, std::size_t setup,
                               const Scenario& scenario, PlanningProgress& silent) {
  Situation situation = scenario.situation();
  situation.memory = &searched.known[setup].memory[scenario.model.micro_batches];
  situation.progress = &silent;
  return situation;
}

moe::Model predicted_model(const SearchedSetups& searched, const TrainingSetup& setup,
                           const std::optional<FewerMicroBatches>& fewer) {
  return fewer ? with_so_many_micro_batches(searched.model, setup, fewer->more)
               : with_setup(searched.model, setup);
}

}  // namespace tuner
