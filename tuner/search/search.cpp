#include "tuner/search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "db/console/progress.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/search/fewer_micro_batches.h"
#include "tuner/search/in_parallel.h"
#include "tuner/search/setup_bound.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

/// What the bound of uneven loads may lose by rounding rows to whole ones.
constexpr double kRounding = 0.98;
/// Candidates that are looked at together: a constant, so that results do not depend on cores.
constexpr std::size_t kAtOnce = 4;
/// From so many on, it saves time to look first whether one of them fits.
constexpr int kManyMicroBatches = 4;
/// A planner says nothing of its own: the search does.
constexpr double kSilent_s = std::numeric_limits<double>::infinity();

/// Of a larger Program joint goes on from the order of micro-batches alone, and of one still larger
/// nothing is planned: 8 setups would take minutes.
constexpr int kMostOpsFromAllPlanners = 2000;
constexpr int kMostPlannedOps = 60'000;
/// Schedules times ops that joint tries then, so that a setup takes some seconds.
constexpr int kMostTriedOps = 100'000, kFewestTriedFrom = 4, kMostTriedFrom = 24;

constexpr const char* kStates = "parameters, gradients and optimizer exceed the memory of a rank";
constexpr const char* kOneMicroBatch = "one micro-batch exceeds the memory of a rank";
constexpr const char* kPlan = "the planned peak exceeds the memory of a rank";
constexpr const char* kByPieces = "cannot be faster, by the work of its stages";
constexpr const char* kByProgram = "cannot be faster, by the lower bound of its schedule";
constexpr const char* kSlower = "simulated, slower";
constexpr const char* kSameSetup = "another order of the same setup is faster";
constexpr const char* kSameKind = "another setup with its tp and pp is faster";

/// `layout`: by the pieces of another number of micro-batches.
enum class Known { layout, pieces, program, time };

struct SearchCandidate {
  std::size_t setup = 0;
  const Planner* order = nullptr;
  bool sharded = false;
  Known known = Known::pieces;
  double least_s = 0;  ///< no schedule of the candidate takes less; once known, its time
  moe::Schedule schedule{};
  std::string out{};  ///< why it is left out
};

/// What was planned and simulated of a setup, for all its candidates.
struct KnownOfSetup {
  std::map<int, PlanMemory> memory;  ///< by the number of micro-batches
  std::map<const Planner*, moe::Schedule> ordered;
  std::size_t ops_of_one = 0;  ///< of the Program of one micro-batch; 0: not known yet
  std::optional<SetupCosts> costs;
};

/// Whether the order can differ from that of another planner on such a setup.
bool is_apart(Passes passes, const TrainingSetup& setup) {
  if (passes == Passes::one_after_other) return true;
  const bool on_one_stage = passes == Passes::exchanges_hidden;
  return setup.micro_batches > 1 && on_one_stage == (setup.layout.pipeline == 1);
}

class SetupSearch {
 public:
  SetupSearch(const ScenarioOptions& scenario, const moe::Model& model, const MeasuredCosts& costs,
              int ranks, const SearchOptions& options)
      : scenario_(scenario), model_(model), costs_(costs), options_(options) {
    scenario_.ranks = ranks;
    if (options.memory_bytes > 0) costs_.costed.cluster.memory_bytes = options.memory_bytes;
    larger_is_no_slower_ = larger_is_no_slower(costs_.costed.costs);
    space_ = setups_of(model, ranks, options.layouts, options.micro_batches);
    result_.layouts = space_.layouts;
    result_.setups = space_.setups.size();
    result_.refused = space_.refused;
  }

  SearchResult run() {
    add_candidates();
    take_best();
    for (const SearchCandidate& one : candidates_) {
      if (!one.out.empty()) ++result_.pruned[one.out];
      if (one.known == Known::time) ++result_.simulated;
    }
    result_.candidates = candidates_.size();
    refuse_nothing_left();
    plan_found();
    return std::move(result_);
  }

 private:
  std::int64_t memory_bytes() const { return costs_.costed.cluster.memory_bytes; }

  Scenario scenario_of_setup(const TrainingSetup& setup, const moe::Model& model) const {
    ScenarioOptions options = scenario_;
    options.layout = moe::to_text(setup.layout);
    return scenario_of(options, model, costs_);
  }

  /// The factor by which ranks may be faster than costs say.
  double fastest() const {
    double least = scenario_.routing == "uniform" ? 1 : kRounding;
    for (const Slowdowns& slowdowns : costs_.costed.costs.slowdowns) {
      if (!slowdowns.empty()) least = std::min(least, kRounding * std::ranges::min(slowdowns));
    }
    return least;
  }

  void add_candidates() {
    const std::vector<std::size_t> layouts = first_of_layouts();
    std::vector<std::vector<SearchCandidate>> of_layout(layouts.size() - 1);
    any_s_.resize(space_.setups.size());
    one_fits_.assign(space_.setups.size(), kNotKnown);
    known_.resize(space_.setups.size());
    db::Progress progress(fmt::format("search: bounds of {} layouts", of_layout.size()),
                          static_cast<double>(of_layout.size()));
    in_parallel(
        of_layout.size(),
        [&](std::size_t i) { of_layout[i] = candidates_of_layout(layouts[i], layouts[i + 1]); },
        [&](std::size_t ended) { progress.at(static_cast<double>(ended)); });
    for (auto& some : of_layout) std::ranges::move(some, std::back_inserter(candidates_));
  }

  /// Where setups of another layout begin, and the end.
  std::vector<std::size_t> first_of_layouts() const {
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < space_.setups.size(); ++i) {
      if (i == 0 || !(space_.setups[i - 1].layout == space_.setups[i].layout)) first.push_back(i);
    }
    first.push_back(space_.setups.size());
    return first;
  }

  /// Of the setups of a layout. States are the same, and where larger sizes are no slower, the costs
  /// of the fewest micro-batches say what no others can beat.
  std::vector<SearchCandidate> candidates_of_layout(std::size_t begin, std::size_t end) {
    std::size_t fewest = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (space_.setups[i].micro_batches < space_.setups[fewest].micro_batches) fewest = i;
    }
    const std::string refused = refusal_of_costs(fewest);
    std::vector<SearchCandidate> all;
    for (std::size_t i = begin; i < end; ++i) {
      const bool by_fewest = i != fewest && refused.empty() && larger_is_no_slower_;
      const std::string refusal = i == fewest ? refused : by_fewest ? "" : refusal_of_costs(i);
      if (!refusal.empty()) {
        all.push_back({.setup = i, .out = refusal});
      } else {
        std::ranges::move(candidates_of_setup(i, by_fewest ? fewest : i), std::back_inserter(all));
      }
    }
    return all;
  }

  /// Works out the costs of the setup's pieces, unless they are known. "" where there are some.
  std::string refusal_of_costs(std::size_t i) {
    std::optional<SetupCosts>& costs = known_[i].costs;
    if (costs) return "";
    const TrainingSetup& setup = space_.setups[i];
    try {
      costs = setup_costs(model_, setup, costs_.costed, scenario_.routing);
    } catch (const moe::Refusal& refusal) {
      return without_numbers(refusal.what());
    } catch (const moe::InputError& error) {
      return without_numbers(error.what());
    }
    const SetupPieces& pieces = costs->sharded.empty() ? costs->whole : costs->sharded.front();
    any_s_[i] = fastest() * bound_s(pieces, model_, setup, Passes::undecided);
    return "";
  }

  /// One for each order that the setup has for itself, whole and sharded. `known`: itself, or the
  /// setup with fewer micro-batches whose costs are known.
  std::vector<SearchCandidate> candidates_of_setup(std::size_t i, std::size_t known) const {
    const TrainingSetup& setup = space_.setups[i];
    const SetupCosts& costs = *known_[known].costs;
    std::vector<SearchCandidate> found;
    const auto add = [&](const SetupPieces& pieces, bool sharded) {
      const bool too_large =
          memory_bytes() > 0 && state_bytes(pieces, model_, setup) > memory_bytes();
      for (const Planner* const order : options_.orders) {
        if (!is_apart(order->passes, setup)) continue;
        SearchCandidate& one = found.emplace_back(SearchCandidate{i, order, sharded});
        if (too_large) one.out = kStates;
        one.known = known == i ? Known::pieces : Known::layout;
        one.least_s =
            known == i
                ? least_s(pieces, setup, *order)
                : kRounding * least_s(in_micro_batches(pieces, space_.setups[known].micro_batches,
                                                       setup.micro_batches),
                                      setup, *order);
      }
    };
    add(costs.whole, false);
    for (const SetupPieces& pieces : costs.sharded) add(pieces, true);
    return found;
  }

  double least_s(const SetupPieces& pieces, const TrainingSetup& setup,
                 const Planner& order) const {
    return fastest() * bound_s(pieces, model_, setup, order.passes);
  }

  /// Whether one micro-batch of the setup fits with all that lightens it: by the least that it
  /// needs, then, where there are many and orders cannot cut stages otherwise, by its plan. Asked
  /// once a setup.
  bool one_micro_batch_fits(std::size_t i) {
    if (memory_bytes() == 0) return true;
    if (one_fits_[i] == kNotKnown) {
      const TrainingSetup& setup = space_.setups[i];
      one_fits_[i] = least_bytes(model_, setup, costs_.costed.cluster) <= memory_bytes();
      const bool is_planned =
          setup.micro_batches >= kManyMicroBatches && setup.layout.pipeline == 1;
      if (one_fits_[i] == 0 || !is_planned) return one_fits_[i] == 1;
      const Scenario one = scenario_of_setup(setup, with_so_many_micro_batches(model_, setup, 1));
      Situation situation = one.situation();
      PlanMemory memory;
      situation.memory = &memory;
      const auto lighter = lighter_schedule(situation, {});
      one_fits_[i] = !lighter || lighter->fits;
    }
    return one_fits_[i] == 1;
  }

  /// Learns more of a candidate: the bound of its Program, and, where no other can be faster than
  /// that, its time. `next_s`: what others cannot beat.
  void look_closer(SearchCandidate& one, double next_s) {
    try {
      const TrainingSetup& setup = space_.setups[one.setup];
      if (one.known == Known::layout) {
        one.out = refusal_of_costs(one.setup);
        if (!one.out.empty()) return;
        const SetupCosts& costs = *known_[one.setup].costs;
        const SetupPieces& pieces = one.sharded ? costs.sharded.front() : costs.whole;
        one.least_s = std::max(one.least_s, least_s(pieces, setup, *one.order));
        one.known = Known::pieces;
        if (one.least_s > next_s) return;
      }
      if (one.known == Known::pieces && !one_micro_batch_fits(one.setup)) {
        one.out = kOneMicroBatch;
        return;
      }
      const auto fewer = fewer_of(one.setup, *one.order);
      const Scenario scenario = scenario_of_setup(setup, model_of(setup, fewer));
      Situation situation = scenario.situation();
      PlanMemory& memory = known_[one.setup].memory[scenario.model.micro_batches];
      situation.memory = &memory;
      PlanningProgress silent("search", {}, kSilent_s);
      situation.progress = &silent;
      if (one.known == Known::pieces) {
        one.schedule = ordered(situation, one);
        if (one.sharded) {
          auto sharded = with_sharded_optimizer(scenario.program, one.schedule);
          if (!sharded) {
            one.out = "the order is not legal with shard_optimizer";
            return;
          }
          one.schedule = std::move(*sharded);
        }
      }
      moe::Program program = moe::apply(scenario.program, one.schedule);
      std::optional<double> seconds = known_seconds(memory, one.schedule);
      std::vector<ProgramCosts> costs;
      if (!seconds) costs = judged_costs(situation, program);
      if (one.known == Known::pieces && !fewer) {
        one.least_s =
            std::max(one.least_s, seconds ? *seconds : median_s(costs, [&](const ProgramCosts& of) {
                       return lower_bound(program, of, situation.cluster).seconds();
                     }));
        one.known = Known::program;
        if (one.least_s > next_s) return;
      }
      if (!fits_memory(situation, one.schedule, &program)) {
        auto lighter = restored(situation, one);
        if (!lighter) {
          one.out = kPlan;
          return;
        }
        one.schedule = std::move(*lighter);
        program = moe::apply(scenario.program, one.schedule);
        costs = judged_costs(situation, program);
        seconds.reset();
      }
      if (!seconds) {
        seconds = median_s(costs, [&](const ProgramCosts& of) {
          return simulate(program, of, situation.costs, situation.cluster).duration_s;
        });
      }
      one.least_s =
          fewer ? seconds_of_all(setup, *fewer, few_s(setup, *fewer, one), *seconds) : *seconds;
      one.known = Known::time;
    } catch (const moe::Refusal& refusal) {
      one.out = without_numbers(refusal.what());
    }
  }

  /// The fewer micro-batches by which the setup is predicted in this order; none: by all of them.
  std::optional<FewerMicroBatches> fewer_of(std::size_t i, const Planner& order) {
    const TrainingSetup& setup = space_.setups[i];
    std::size_t& ops = known_[i].ops_of_one;
    if (ops == 0) {
      ops =
          scenario_of_setup(setup, with_so_many_micro_batches(model_, setup, 1)).program.ops.size();
    }
    return fewer_micro_batches(setup, order.passes, ops);
  }

  moe::Model model_of(const TrainingSetup& setup,
                      const std::optional<FewerMicroBatches>& fewer) const {
    return fewer ? with_so_many_micro_batches(model_, setup, fewer->more)
                 : with_setup(model_, setup);
  }

  double few_s(const TrainingSetup& setup, const FewerMicroBatches& fewer,
               const SearchCandidate& one) const {
    const Scenario few =
        scenario_of_setup(setup, with_so_many_micro_batches(model_, setup, fewer.few));
    Situation situation = few.situation();
    PlanningProgress silent("search", {}, kSilent_s);
    situation.progress = &silent;
    return simulated_s(situation, one.schedule);
  }

  /// The schedule of the candidate's order, planned once for the setup.
  moe::Schedule ordered(const Situation& situation, const SearchCandidate& one) {
    auto& known = known_[one.setup].ordered;
    if (const auto found = known.find(one.order); found != known.end()) return found->second;
    moe::Schedule schedule = one.order->plan != nullptr ? one.order->plan(situation, {})
                                                        : plan_with(*one.order, situation, {});
    return known.emplace(one.order, std::move(schedule)).first->second;
  }

  /// The time of a schedule that its planner simulated.
  static std::optional<double> known_seconds(const PlanMemory& memory,
                                             const moe::Schedule& schedule) {
    const auto found = memory.simulated.find(moe::decisions_json(schedule));
    if (found == memory.simulated.end() || found->second.empty()) return std::nullopt;
    return found->second[median_place(found->second)];
  }

  /// The candidate's schedule with blocks restored so that it fits; none where none of them is
  /// enough, or where it is the candidate with shard_optimizer that comes next. How many blocks is
  /// found with as few micro-batches as stages have under way, and then tried with all of them.
  std::optional<moe::Schedule> restored(const Situation& situation, const SearchCandidate& one) {
    if (!one.sharded && with_sharded_optimizer(situation.program, one.schedule)) {
      return std::nullopt;
    }
    const TrainingSetup& setup = space_.setups[one.setup];
    const int under_way = 2 * setup.layout.pipeline;
    if (situation.program.micro_batches > under_way) {
      const Scenario few =
          scenario_of_setup(setup, with_so_many_micro_batches(model_, setup, under_way));
      auto lighter = lighter_schedule(few.situation(), one.schedule);
      if (lighter && !lighter->fits) return std::nullopt;
      if (lighter && fits_memory(situation, lighter->schedule)) return lighter->schedule;
    }
    auto lighter = lighter_schedule(situation, one.schedule);
    if (!lighter || !lighter->fits) return std::nullopt;
    return std::move(lighter->schedule);
  }

  template <class Seconds>
  static double median_s(const std::vector<ProgramCosts>& costs, const Seconds& seconds_of) {
    std::vector<double> seconds;
    for (const ProgramCosts& of_iteration : costs) seconds.push_back(seconds_of(of_iteration));
    return seconds[median_place(seconds)];
  }

  using Kind = std::pair<int, int>;
  Kind kind_of(std::size_t setup) const {
    const moe::Layout& layout = space_.setups[setup].layout;
    return {layout.tensor, layout.pipeline};
  }

  void take_best() {
    std::set<std::pair<double, std::size_t>> queue;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].out.empty()) queue.emplace(candidates_[i].least_s, i);
    }
    const auto top = static_cast<std::size_t>(options_.top);
    db::Progress progress("search: simulations", static_cast<double>(top));
    std::set<std::size_t> setups;
    std::set<Kind> kinds;
    while (!queue.empty() && result_.found.size() < top) {
      std::vector<std::size_t> together;
      std::set<std::size_t> setups_together;
      double next_s = std::numeric_limits<double>::infinity();
      for (auto at = queue.begin(); at != queue.end();) {
        SearchCandidate& one = candidates_[at->second];
        if (setups.contains(one.setup)) {
          one.out = kSameSetup;
        } else if (result_.found.size() >= (top + 1) / 2 && kinds.contains(kind_of(one.setup))) {
          one.out = kSameKind;
        }
        if (!one.out.empty()) {
          at = queue.erase(at);
          continue;
        }
        if (one.known == Known::time) {
          if (!together.empty()) {
            next_s = one.least_s;
            break;
          }
          take(one);
          setups.insert(one.setup);
          kinds.insert(kind_of(one.setup));
          at = queue.erase(at);
          if (result_.found.size() >= top) break;
          continue;
        }
        if (together.size() == kAtOnce || !setups_together.insert(one.setup).second) {
          next_s = one.least_s;
          break;
        }
        together.push_back(at->second);
        ++at;
      }
      for (const std::size_t i : together) queue.erase({candidates_[i].least_s, i});
      in_parallel(together.size(),
                  [&](std::size_t i) { look_closer(candidates_[together[i]], next_s); });
      for (const std::size_t i : together) {
        if (candidates_[i].out.empty()) queue.emplace(candidates_[i].least_s, i);
      }
      progress.at(static_cast<double>(result_.found.size()));
    }
    for (const auto& [least_s, i] : queue) {
      SearchCandidate& one = candidates_[i];
      one.out = one.known <= Known::pieces    ? kByPieces
                : one.known == Known::program ? kByProgram
                                              : kSlower;
    }
  }

  void take(const SearchCandidate& one) {
    FoundSetup& found = result_.found.emplace_back();
    found.setup = space_.setups[one.setup];
    found.schedule = one.schedule;
    found.order = one.order->name;
    found.ordered_s = found.predicted_s = one.least_s;
    taken_.push_back(static_cast<std::size_t>(&one - candidates_.data()));
  }

  void refuse_nothing_left() const {
    if (!result_.found.empty()) return;
    std::vector<std::string> reasons;
    for (const Reasons* const some : {&result_.refused, &result_.pruned}) {
      for (const auto& [reason, count] : *some) {
        reasons.push_back(fmt::format("{} ({})", reason, count));
      }
    }
    throw moe::Refusal(fmt::format("search: model {} on {} ranks", model_.name, *scenario_.ranks),
                       reasons.empty()
                           ? "no layout is within --layouts"
                           : fmt::format("no setup is left: {}", fmt::join(reasons, "; ")),
                       "");
  }

  void plan_found() {
    const double best_s = result_.found.front().predicted_s;
    db::Progress progress(fmt::format("search: planners of {} setups", result_.found.size()),
                          static_cast<double>(result_.found.size()));
    in_parallel(
        result_.found.size(), [&](std::size_t i) { plan_one(i, best_s); },
        [&](std::size_t ended) { progress.at(static_cast<double>(ended)); });
    std::ranges::stable_sort(result_.found, {}, &FoundSetup::predicted_s);
  }

  static moe::Schedule plan_of(PlannerRequest request, const Situation& situation,
                               const moe::Schedule& ordered) {
    const auto ops = static_cast<int>(situation.program.ops.size());
    if (request.planner->name != kJoint || ops <= kMostOpsFromAllPlanners) {
      return plan_with(*request.planner, situation, request.options);
    }
    const int usual = std::clamp(kMostTriedOps / ops, kFewestTriedFrom, kMostTriedFrom);
    request.options.asked.try_emplace(kMostTried.key, usual);
    return plan_joint_from(situation, request.options, ordered);
  }

  void plan_one(std::size_t i, double best_s) {
    FoundSetup& found = result_.found[i];
    const std::size_t setup = candidates_[taken_[i]].setup;
    const auto fewer = fewer_of(setup, *candidates_[taken_[i]].order);
    Scenario scenario = scenario_of_setup(found.setup, model_of(found.setup, fewer));
    Situation situation = scenario.situation();
    situation.memory = &known_[setup].memory[scenario.model.micro_batches];
    PlanningProgress silent("search", {}, kSilent_s);
    situation.progress = &silent;
    const auto ops = static_cast<int>(scenario.program.ops.size());
    found.was_planned = !fewer && ops <= kMostPlannedOps && any_s_[setup] <= best_s;
    for (const PlannerRequest& request : options_.planners) {
      if (!found.was_planned) break;
      try {
        moe::Schedule schedule = plan_of(request, situation, found.schedule);
        if (!fits_memory(situation, schedule)) continue;
        const double seconds = simulated_s(situation, schedule);
        if (seconds >= found.predicted_s) continue;
        found.predicted_s = seconds;
        found.schedule = std::move(schedule);
      } catch (const moe::Refusal&) {  // the planner has nothing for this setup
      }
    }
    const moe::Program program = moe::apply(scenario.program, found.schedule);
    const std::vector<double> seconds = simulated_iterations_s(situation, found.schedule, &program);
    const LowerBound bound = bound_of(situation, program, seconds);
    found.lower_bound_s = bound.seconds();
    found.bounded_by = bound.where;
    if (fewer) {
      const Scenario few = scenario_of_setup(
          found.setup, with_so_many_micro_batches(model_, found.setup, fewer->few));
      const moe::Program of_few = moe::apply(few.program, found.schedule);
      const Situation of = few.situation();
      const LowerBound least =
          bound_of(of, of_few, simulated_iterations_s(of, found.schedule, &of_few));
      found.lower_bound_s = seconds_of_all(found.setup, *fewer, least.seconds(), bound.seconds());
    }
    found.peak = peak_parts(program, scenario.groups, routings_of(situation));
    found.tokens = model_.global_batch * model_.sequence_length;
    found.simulated_micro_batches = scenario.model.micro_batches;
    if (i == 0) result_.remarks = std::move(scenario.remarks);
  }

  /// That of the median iteration.
  static LowerBound bound_of(const Situation& situation, const moe::Program& program,
                             const std::vector<double>& seconds) {
    return lower_bound(program, judged_costs(situation, program)[median_place(seconds)],
                       situation.cluster);
  }

  static constexpr signed char kNotKnown = -1;

  ScenarioOptions scenario_;
  const moe::Model& model_;
  MeasuredCosts costs_;
  const SearchOptions& options_;
  bool larger_is_no_slower_ = false;
  SetupSpace space_;
  SearchResult result_;
  std::vector<SearchCandidate> candidates_;
  std::vector<double> any_s_;          ///< [setup]: what no planner can beat
  std::vector<signed char> one_fits_;  ///< [setup]
  std::vector<KnownOfSetup> known_;    ///< [setup]
  std::vector<std::size_t> taken_;     ///< [found]: its candidate
};

}  // namespace

std::vector<const Planner*> search_orders() {
  std::vector<const Planner*> orders;
  for (const Planner& planner : planners()) {
    if (planner.passes != Passes::undecided) orders.push_back(&planner);
  }
  return orders;
}

/// gpipe takes as long as one_f_one_b and needs more memory. Of those that fill bubbles few can be
/// pruned, and planning them takes long.
constexpr std::string_view kUsualOrders = "sequential,one_f_one_b,two_batch";

std::vector<const Planner*> parse_orders(std::string_view text) {
  const std::vector<const Planner*> all = search_orders();
  if (text == "all") return all;
  if (text == "usual") return parse_orders(kUsualOrders);
  std::vector<const Planner*> orders;
  for (const std::string_view name : moe::split(text, ',')) {
    const auto found = std::ranges::find(all, name, &Planner::name);
    if (found == all.end()) {
      std::vector<std::string_view> names;
      for (const Planner* const planner : all) names.push_back(planner->name);
      throw moe::InputError(fmt::format("--orders {}: \"{}\": expected usual, all, or some of {}",
                                        text, name, fmt::join(names, ", ")));
    }
    orders.push_back(*found);
  }
  return orders;
}

SearchResult search_setups(const ScenarioOptions& scenario, const moe::Model& model,
                           const MeasuredCosts& costs, int ranks, const SearchOptions& options) {
  return SetupSearch(scenario, model, costs, ranks, options).run();
}

}  // namespace tuner
