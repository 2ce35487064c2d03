#include "tuner/search/closer_look.h"

#include <algorithm>
#include <utility>

#include "moe/errors.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/search/candidate_bounds.h"
#include "tuner/search/fastest_stages.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

/// From so many on, it saves time to look first whether one of them fits.
constexpr int kManyMicroBatches = 4;
/// The memory of further micro-batches under way follows from so many and one more.
constexpr int kFewUnderWay = 2;
/// Such estimates of what must be restored, each mended by the plan of the one before.
constexpr int kMostEstimates = 3;
constexpr int kSpareShare = 50;  ///< of the memory, which the first estimate leaves free
constexpr const char* kOneMicroBatch = "one micro-batch exceeds the memory of a rank";
constexpr const char* kPlan = "the planned peak exceeds the memory of a rank";

/// [stage]
std::vector<std::int64_t> sum_of(std::vector<std::int64_t> bytes,
                                 const std::vector<std::int64_t>& more, int times = 1) {
  for (std::size_t stage = 0; stage < bytes.size(); ++stage) bytes[stage] += times * more[stage];
  return bytes;
}

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
    const Scenario one = in_micro_batches(1);
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
      seconds = restore(situation);
      if (!seconds) return;
    }
    if (!seconds) {
      seconds = median_s(costs, [&](const ProgramCosts& of) {
        return simulate(program, of, situation.costs, situation.cluster).duration_s;
      });
    }
    one_.least_s = *seconds;
    one_.known = Known::time;
  }

  /// The order is planned for the fewer of the two numbers, or its stages are cut by the pieces.
  void look_at_fewer(const FewerMicroBatches& fewer) {
    const Scenario few = in_micro_batches(fewer.few);
    const Situation of_few = remembering(few);
    const bool has_stages = one_.order->passes == Passes::filled_and_drained;
    if (!(has_stages ? take_stages(of_few) : take_order(of_few)) ||
        !fit(of_few, std::vector<std::int64_t>(static_cast<std::size_t>(few.program.stages)))) {
      return;
    }
    const Scenario more = in_micro_batches(fewer.more);
    const Situation of_more = remembering(more);
    if (!fit_all(fewer, of_few, of_more)) return;
    one_.least_s = seconds_of_all(setup_, fewer, simulated_s(of_few, one_.schedule),
                                  simulated_s(of_more, one_.schedule));
    one_.known = Known::time;
  }

  const SetupPieces& pieces() const {
    return one_.sharded ? known_.costs->sharded.front() : known_.costs->whole;
  }

  /// Takes the order with the stages that are the fastest by the pieces: of a large Program that is
  /// known sooner than which cut of the planner is. False where the candidate is left out.
  bool take_stages(const Situation& situation) {
    const Scenario two = in_micro_batches(2);
    if (!take_order(two.situation())) return false;
    auto cut = fastest_stages(situation, one_.schedule);
    return take(cut ? std::optional(std::move(cut->schedule)) : std::nullopt);
  }
  std::optional<CutSchedule> fastest_stages(const Situation& situation,
                                            const moe::Schedule& schedule) const {
    return with_fastest_stages(
        pieces(), searched_.model, setup_, situation.program, schedule, searched_.memory_bytes(),
        [&](const moe::Schedule& cut) { return excess_bytes(situation, cut); });
  }

  /// Makes the candidate fit with so many bytes to spare [stage]. How many blocks are restored is found
  /// by the Programs of two and three micro-batches: each further one under way takes as much. False
  /// where it is left out.
  bool fit(const Situation& situation, const std::vector<std::int64_t>& spare) {
    if (searched_.memory_bytes() == 0) return true;
    const auto excess_of = [&](const moe::Schedule& schedule) {
      return sum_of(excess_bytes(situation, schedule), spare);
    };
    const std::vector<std::int64_t> as_it_is = excess_of(one_.schedule);
    if (std::ranges::max(as_it_is) <= 0) return true;
    if (comes_sharded_next(situation)) return take(std::nullopt);
    if (situation.program.stages > kFewUnderWay + 1) {
      const Scenario two = in_micro_batches(kFewUnderWay),
                     three = in_micro_batches(kFewUnderWay + 1);
      const Situation of_two = two.situation(), of_three = three.situation();
      const auto further = [&](const moe::Schedule& schedule) {
        std::vector<std::int64_t> excess = excess_bytes(of_two, schedule);
        const std::vector<std::int64_t> of_more = excess_bytes(of_three, schedule);
        for (int stage = 0; stage < std::ssize(excess); ++stage) {
          const int under_way =
              std::min(situation.program.micro_batches, situation.program.stages - stage);
          excess[stage] += (under_way - kFewUnderWay) * (of_more[stage] - excess[stage]);
        }
        return excess;
      };
      std::vector<std::int64_t> beyond = sum_of(as_it_is, further(one_.schedule), -1);
      for (std::int64_t& bytes : beyond) bytes += searched_.memory_bytes() / kSpareShare;
      for (int tried = 0; tried < kMostEstimates; ++tried) {
        auto lighter = fitting(lighter_schedule(
            two.program, one_.schedule,
            [&](const moe::Schedule& schedule) { return sum_of(further(schedule), beyond); },
            nullptr));
        if (!lighter) break;
        const std::vector<std::int64_t> excess = excess_of(*lighter);
        if (std::ranges::max(excess) <= 0) return take(std::move(lighter));
        beyond = sum_of(excess, further(*lighter), -1);
      }
    }
    return take(fitting(lighter_schedule(situation.program, one_.schedule, excess_of, nullptr)));
  }
  Scenario in_micro_batches(int count) const {
    return searched_.of_setup(setup_, with_so_many_micro_batches(searched_.model, setup_, count));
  }

  /// Makes the candidate fit with all its micro-batches, which fits with the fewer ones. False where
  /// it is left out.
  bool fit_all(const FewerMicroBatches& fewer, const Situation& of_few, const Situation& of_more) {
    if (searched_.memory_bytes() == 0) return true;
    const auto excess_of_all = [&](const moe::Schedule& schedule) {
      std::vector<std::int64_t> excess = excess_bytes(of_more, schedule);
      std::ranges::transform(excess_bytes(of_few, schedule), excess, excess.begin(),
                             [&](std::int64_t few, std::int64_t more) {
                               return bytes_of_all(setup_, fewer, few, more);
                             });
      return excess;
    };
    if (std::ranges::max(excess_of_all(one_.schedule)) <= 0) return true;
    if (comes_sharded_next(of_more)) return take(std::nullopt);
    // Mostly the others add as many bytes whatever is restored.
    const std::vector<std::int64_t> added =
        sum_of(excess_of_all(one_.schedule), excess_bytes(of_few, one_.schedule), -1);
    std::erase_if(one_.schedule.decisions, [](const moe::Decision& decision) {
      return std::holds_alternative<moe::RestoreBlock>(decision);
    });
    const moe::Schedule whole = one_.schedule;
    if (fit(of_few, added) && std::ranges::max(excess_of_all(one_.schedule)) <= 0) return true;
    return take(fitting(lighter_schedule(of_more.program, whole, excess_of_all, nullptr)));
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

  /// Restores blocks so that the candidate fits, with the stages of its order or with those that are
  /// the fastest so, and tells its time. None where it is left out, also where it is the candidate with
  /// shard_optimizer that comes next.
  std::optional<double> restore(const Situation& situation) {
    std::vector<moe::Schedule> fit;
    if (!comes_sharded_next(situation)) {
      if (auto own = restored(situation, one_.schedule)) fit.push_back(std::move(*own));
      if (auto other = restored_in_fastest_stages(situation)) fit.push_back(std::move(*other));
    }
    std::optional<double> least_s;
    std::optional<moe::Schedule> fastest;
    for (moe::Schedule& schedule : fit) {
      const double seconds = simulated_s(situation, schedule);
      if (least_s && *least_s <= seconds) continue;
      least_s = seconds;
      fastest = std::move(schedule);
    }
    take(std::move(fastest));
    return least_s;
  }

  std::optional<moe::Schedule> restored_in_fastest_stages(const Situation& situation) const {
    if (one_.order->passes != Passes::filled_and_drained || situation.program.stages < 2) {
      return std::nullopt;
    }
    try {
      auto cut = fastest_stages(situation, one_.schedule);
      if (!cut || moe::decisions_json(cut->schedule) == moe::decisions_json(one_.schedule)) {
        return std::nullopt;
      }
      if (std::ranges::max(cut->excess) <= 0) return std::move(cut->schedule);
      return restored(situation, cut->schedule);
    } catch (const moe::Refusal&) {  // what the order decides is not legal with such stages
      return std::nullopt;
    }
  }

  /// A schedule that exceeds the memory, with blocks restored so that it fits; none where none of them
  /// is enough. How many blocks is found with as few micro-batches as stages have under way, and then
  /// tried with all of them.
  std::optional<moe::Schedule> restored(const Situation& situation,
                                        const moe::Schedule& schedule) const {
    const int under_way = 2 * setup_.layout.pipeline;
    if (situation.program.micro_batches > under_way) {
      const Scenario few = in_micro_batches(under_way);
      auto lighter = lighter_schedule(few.situation(), schedule);
      if (lighter && !lighter->fits) return std::nullopt;
      if (lighter && fits_memory(situation, lighter->schedule)) return lighter->schedule;
    }
    return fitting(lighter_schedule(situation, schedule));
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
