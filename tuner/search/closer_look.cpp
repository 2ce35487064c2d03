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
#include "tuner/search/setup_memory.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

/// From so many on, it saves time to look first whether one of them fits.
constexpr int kManyMicroBatches = 4;
/// Of what must be restored.
constexpr int kMostEstimates = 3;
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

/// What stages keep under way, by the Programs of so many micro-batches and of one more: each further
/// one under way takes as much.
class UnderWay {
 public:
  static constexpr int kFew = 2;
  /// `all`: the Program with as many as are under way in any stage, or more.
  UnderWay(Scenario few, Scenario one_more, const moe::Program& all)
      : few_(std::move(few)), one_more_(std::move(one_more)), all_(all) {}

  const moe::Program& program() const { return few_.program; }
  /// [stage]: as excess_bytes() of `all`, about.
  std::vector<std::int64_t> excess(const moe::Schedule& schedule) {
    std::vector<std::int64_t> excess = excess_in(few_, of_few_, schedule);
    const std::vector<std::int64_t> of_more = excess_in(one_more_, of_one_more_, schedule);
    for (int stage = 0; stage < std::ssize(excess); ++stage) {
      const int under_way = std::min(all_.micro_batches, all_.stages - stage);
      excess[stage] += (under_way - kFew) * (of_more[stage] - excess[stage]);
    }
    return excess;
  }

  /// [stage]: what so many micro-batches add that are not under way yet.
  std::vector<std::int64_t> bytes_of_further(const moe::Schedule& schedule, int count) const {
    std::vector<std::int64_t> bytes =
        sum_of(bytes_of_whole_iteration(moe::apply(one_more_.program, schedule)),
               bytes_of_whole_iteration(moe::apply(few_.program, schedule)), -1);
    for (std::int64_t& one : bytes) one *= count;
    return bytes;
  }

 private:
  static std::vector<std::int64_t> excess_in(const Scenario& scenario, PlanMemory& memory,
                                             const moe::Schedule& schedule) {
    Situation situation = scenario.situation();
    situation.memory = &memory;
    return excess_bytes(situation, schedule);
  }

  Scenario few_, one_more_;
  PlanMemory of_few_, of_one_more_;
  const moe::Program& all_;
};

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
    const bool fits = !may_be_cut_anew() || fits_memory(situation, one_.schedule, &program);
    if (one_.known == Known::pieces && fits) {
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
    if (!(fewer.adds_memory ? take_planned(of_few) : take_under_way(of_few))) return;
    const Scenario more = in_micro_batches(fewer.more);
    const Situation of_more = remembering(more);
    if (fewer.adds_memory && !fit_all(fewer, of_few, of_more)) return;
    one_.least_s = seconds_of_all(setup_, fewer, simulated_s(of_few, one_.schedule),
                                  simulated_s(of_more, one_.schedule));
    one_.known = Known::time;
  }

  Scenario in_micro_batches(int count) const {
    return searched_.of_setup(setup_, with_so_many_micro_batches(searched_.model, setup_, count));
  }
  /// Whether restore() may give it other stages.
  bool may_be_cut_anew() const {
    return searched_.memory_bytes() > 0 && setup_.layout.pipeline > 1 &&
           one_.order->passes == Passes::filled_and_drained;
  }
  const SetupPieces& pieces() const {
    return one_.sharded ? known_.costs->sharded.front() : known_.costs->whole;
  }

  /// Takes an order of which further micro-batches add to the memory. False where the candidate is left
  /// out.
  bool take_planned(const Situation& situation) {
    if (one_.order->passes != Passes::filled_and_drained) return take_order(situation);
    return take_stages(situation, [&](const moe::Schedule& schedule) {
      return excess_bytes(situation, schedule);
    });
  }
  /// Takes an order whose stages keep no more than what is under way, and makes it fit. False where the
  /// candidate is left out.
  bool take_under_way(const Situation& situation) {
    UnderWay under_way(in_micro_batches(UnderWay::kFew), in_micro_batches(UnderWay::kFew + 1),
                       situation.program);
    const auto excess_of = [&](const moe::Schedule& schedule) {
      return under_way.excess(schedule);
    };
    return take_stages(situation, excess_of) && fit_under_way(situation, under_way);
  }
  /// Takes the order with the stages that are the fastest by the pieces: of a large Program that is
  /// known sooner than which cut of the planner is.
  bool take_stages(const Situation& situation, const ExcessOf& excess_of) {
    const Scenario two = in_micro_batches(2);
    if (!take_order(two.situation())) return false;
    auto cut = fastest_stages(situation, one_.schedule, excess_of);
    return take(cut ? std::optional(std::move(cut->schedule)) : std::nullopt);
  }
  std::optional<CutSchedule> fastest_stages(const Situation& situation,
                                            const moe::Schedule& schedule,
                                            const ExcessOf& excess_of) const {
    return with_fastest_stages(pieces(), searched_.model, setup_, situation.program, schedule,
                               searched_.memory_bytes(), excess_of);
  }

  /// Makes a candidate fit whose stages keep no more than what is under way. False where it is left
  /// out.
  bool fit_under_way(const Situation& situation, UnderWay& under_way) {
    if (searched_.memory_bytes() == 0) return true;
    const std::vector<std::int64_t> further = under_way.bytes_of_further(
        one_.schedule, setup_.micro_batches - situation.program.micro_batches);
    const auto excess_of = [&](const moe::Schedule& schedule) {
      return sum_of(excess_bytes(situation, schedule), further);
    };
    if (comes_sharded_next(situation)) {
      return std::ranges::max(excess_of(one_.schedule)) <= 0 || take(std::nullopt);
    }
    const auto about = [&](const moe::Schedule& schedule) { return under_way.excess(schedule); };
    return fit(under_way.program(), about, further, excess_of);
  }

  /// Makes the candidate fit with all its micro-batches, by the memory of the fewer ones. False where
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
    const std::vector<std::int64_t> as_it_is = excess_of_all(one_.schedule);
    if (std::ranges::max(as_it_is) <= 0) return true;
    if (comes_sharded_next(of_more)) return take(std::nullopt);
    const auto about = [&](const moe::Schedule& schedule) {
      return excess_bytes(of_few, schedule);
    };
    // Mostly the others add as many bytes whatever is restored.
    return fit(of_few.program, about, sum_of(as_it_is, about(one_.schedule), -1), excess_of_all);
  }

  /// Restores blocks of the candidate's schedule so that it fits by `excess_of`, if it does not as it
  /// is: first by what is sooner known, `about` and what comes beyond that [stage], which the plan of
  /// one estimate mends for the next. False where it is left out.
  bool fit(const moe::Program& program, const ExcessOf& about, std::vector<std::int64_t> beyond,
           const ExcessOf& excess_of) {
    const moe::Schedule whole = one_.schedule;
    for (int tried = 0; tried < kMostEstimates; ++tried) {
      const auto estimate = [&](const moe::Schedule& schedule) {
        return sum_of(about(schedule), beyond);
      };
      if (std::ranges::max(estimate(whole)) <= 0) {
        one_.schedule = whole;
      } else {
        auto lighter = fitting(lighter_schedule(program, whole, estimate, nullptr));
        if (!lighter) break;
        one_.schedule = std::move(*lighter);
      }
      const std::vector<std::int64_t> excess = excess_of(one_.schedule);
      if (std::ranges::max(excess) <= 0) return true;
      beyond = sum_of(excess, about(one_.schedule), -1);
    }
    if (std::ranges::max(excess_of(whole)) <= 0) return take(whole);
    return take(fitting(lighter_schedule(program, whole, excess_of, nullptr)));
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
    if (!may_be_cut_anew()) return std::nullopt;
    try {
      auto cut = fastest_stages(situation, one_.schedule, [&](const moe::Schedule& schedule) {
        return excess_bytes(situation, schedule);
      });
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
  return fewer_micro_batches(setup, order, ops, searched.most_whole_ops);
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
