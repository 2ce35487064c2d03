#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "moe/errors.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/search/fastest_stages.h"
#include "tuner/search/search.h"
#include "tuner/search/setup_bound.h"

/// The search beside one that simulates every layout with two numbers of micro-batches and every one of
/// some orders, over random models, clusters, routings and memory limits: pruning loses nothing, and no
/// bound lies above a time.
namespace tuner::search_property_test {
namespace {

struct DrawnCase {
  moe::Model model;
  MeasuredCosts costs;
  ScenarioOptions scenario;
  int ranks = 0;
  std::vector<int> micro_batches;      ///< two numbers
  std::vector<const Planner*> orders;  ///< the usual ones and another
};

/// `number`: of the case; orders take turns.
DrawnCase drawn_case(unsigned seed, int number) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto log_between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  DrawnCase c;
  c.ranks = pick({2, 3, 4, 6});
  c.model.name = "drawn";
  c.model.sequence_length = 16;
  c.model.vocabulary = pick({64, 1024});
  c.model.d_model = 32;
  c.model.d_hidden = 96;
  c.model.heads = 4;
  c.model.blocks = pick({1, 2, 3, 4});
  c.model.dense_blocks = c.model.blocks > 1 ? pick({0, 0, 1}) : 0;
  c.model.moe_every = pick({1, 1, 2});
  c.model.experts = pick({4, 6, 8});
  c.model.choices = pick({1, 2});
  if (pick({0, 1}) == 1) c.model.capacity_factor = 1.25;
  c.model.global_batch = pick({4, 6, 8});
  c.model.seed = static_cast<std::int64_t>(seed);
  Cluster& cluster = c.costs.costed.cluster;
  cluster.name = "drawn";
  cluster.ranks_per_node = pick({1, 2, 4});
  cluster.nodes = (c.ranks + cluster.ranks_per_node - 1) / cluster.ranks_per_node;
  cluster.inter_node = {log_between(1e7, 1e10), log_between(1e-6, 1e-4)};
  cluster.intra_node = {log_between(1e8, 1e11), log_between(1e-6, 1e-5)};
  for (const char* unit : {"gemm", "memory"}) {
    LinearFit& fit = c.costs.costed.costs.fits[unit];
    fit.alpha_s = log_between(1e-7, 1e-5);
    fit.beta_s_per_unit = log_between(1e-12, 1e-10);
  }
  c.scenario.routing = pick({0, 1, 1}) == 0 ? "uniform" : "zipf:1.1";
  c.scenario.ranks = c.ranks;
  for (int count = 1; count <= c.model.global_batch; ++count) {
    if (c.model.global_batch % count == 0) c.micro_batches.push_back(count);
  }
  std::ranges::shuffle(c.micro_batches, random);
  c.micro_batches.resize(2);
  std::ranges::sort(c.micro_batches);
  c.orders = parse_orders("usual");
  std::vector<const Planner*> others = search_orders();
  std::erase_if(others, [&](const Planner* one) { return std::ranges::count(c.orders, one) > 0; });
  c.orders.push_back(others[static_cast<std::size_t>(number) % others.size()]);
  return c;
}

/// What brute force works out of a setup once, however much memory a rank has.
struct SetupInWhole {
  TrainingSetup setup;
  Scenario scenario;
  SetupCosts costs;
  PlanMemory memory{};

  Situation situation() {
    Situation all = scenario.situation();
    all.memory = &memory;
    return all;
  }
};

/// `limited`: its pieces have what they keep, and times though they may not fit.
SetupInWhole in_whole(const DrawnCase& c, const TrainingSetup& setup, bool limited) {
  ScenarioOptions options = c.scenario;
  options.layout = moe::to_text(setup.layout);
  CostedCluster costed = c.costs.costed;
  if (limited) costed.cluster.memory_bytes = std::int64_t{1} << 50;
  return {setup, scenario_of(options, with_setup(c.model, setup), c.costs),
          setup_costs(c.model, setup, costed, c.scenario.routing)};
}

/// An order's schedule of a setup, with shard_optimizer or without, whatever memory it needs.
struct OrderedSetup {
  const Planner* order = nullptr;
  moe::Schedule schedule;
  bool sharded = false;
  /// No block is restored: there is the same schedule with shard_optimizer.
  bool keeps_all = false;
};

/// None of an order that decides nothing of its own.
std::vector<OrderedSetup> ordered(const DrawnCase& c, SetupInWhole& setup) {
  const Situation situation = setup.situation();
  std::vector<OrderedSetup> all;
  for (const Planner* const order : c.orders) {
    const moe::Schedule planned = order->plan(situation, {});
    if (planned.decisions.empty() && order->passes != Passes::one_after_other) continue;
    const auto sharded = setup.costs.sharded.empty()
                             ? std::nullopt
                             : with_sharded_optimizer(situation.program, planned);
    all.push_back({order, planned, false, sharded.has_value()});
    if (sharded) all.push_back({order, *sharded, true, false});
  }
  return all;
}

std::optional<double> restored_s(const Situation& situation, const moe::Schedule& schedule) {
  if (fits_memory(situation, schedule)) return simulated_s(situation, schedule);
  const auto lighter = lighter_schedule(situation, schedule);
  if (!lighter || !lighter->fits) return std::nullopt;
  return simulated_s(situation, lighter->schedule);
}

/// The time of a schedule; where memory asks for it, restored with its stages or with those that are
/// the fastest so. None where it does not fit.
std::optional<double> time_of(const DrawnCase& c, const SetupPieces& pieces,
                              const TrainingSetup& setup, const Situation& situation,
                              const OrderedSetup& one) {
  if (fits_memory(situation, one.schedule)) return simulated_s(situation, one.schedule);
  if (one.keeps_all) return std::nullopt;
  std::optional<double> best = restored_s(situation, one.schedule);
  if (one.order->passes != Passes::filled_and_drained) return best;
  const auto cut = with_fastest_stages(
      pieces, c.model, setup, situation.program, one.schedule, situation.cluster.memory_bytes,
      [&](const moe::Schedule& schedule) { return excess_bytes(situation, schedule); });
  if (!cut) return best;
  const auto other = restored_s(situation, cut->schedule);
  return best && other ? std::min(best, other) : best ? best : other;
}

/// Of the schedule: 0 no block is restored, 1 without its exchanges, 2 a whole one.
std::size_t most_restored(const moe::Schedule& schedule) {
  std::size_t most = 0;
  for (const auto& block : moe::decisions_of<moe::RestoreBlock>(schedule)) {
    const bool repeats = block.communication == moe::RestoreCommunication::repeat;
    most = std::max<std::size_t>(most, repeats ? 2 : 1);
  }
  return most;
}

enum class Limit { none, half, restoring, restoring_whole };

/// The bytes of a rank that half of the setups exceed without an order; or the most for which each that
/// fits has restored blocks, or whole ones. Orders of micro-batches need no less. Never less than one of
/// the setups needs.
std::int64_t limit_of(std::vector<SetupInWhole>& setups, Limit limit) {
  std::vector<std::int64_t> peaks;
  std::array<std::int64_t, 3> least;  // by most_restored()
  least.fill(std::numeric_limits<std::int64_t>::max());
  for (SetupInWhole& setup : setups) {
    const Situation situation = setup.situation();
    const auto look_at = [&](const moe::Schedule& schedule) {
      const std::int64_t bytes = planned_peak_bytes(situation, schedule);
      std::int64_t& of_kind = least[most_restored(schedule)];
      of_kind = std::min(of_kind, bytes);
      return bytes;
    };
    peaks.push_back(look_at({}));
    const auto sharded = with_sharded_optimizer(situation.program, {});
    if (sharded) peaks.push_back(look_at(*sharded));
    if (limit == Limit::half) continue;
    moe::Schedule restored = lightest_schedule(situation.program, {});
    look_at(restored);
    for (moe::Decision& decision : restored.decisions) {
      auto* const block = std::get_if<moe::RestoreBlock>(&decision);
      if (block != nullptr) block->communication = moe::RestoreCommunication::keep;
    }
    look_at(restored);
  }
  std::ranges::sort(peaks);
  const std::int64_t bytes = limit == Limit::half        ? peaks[peaks.size() / 2]
                             : limit == Limit::restoring ? least[0] - 1
                                                         : std::min(least[0], least[1]) - 1;
  return std::max(bytes, std::ranges::min(least));
}

struct Tried {
  TrainingSetup setup;
  double seconds = 0;
};

/// The bytes that a setup cannot do without are no more than a plan's, nor are those that the fewest
/// micro-batches of its layout tell.
void check_least_bytes(const DrawnCase& c, const TrainingSetup& setup, Passes passes,
                       const SetupPieces& pieces, const SetupPieces& fewest, int fewest_count,
                       std::int64_t planned_bytes) {
  const std::int64_t least = least_bytes(pieces, c.model, setup, passes);
  EXPECT_LE(least, planned_bytes);
  if (setup.micro_batches == fewest_count) return;
  const SetupPieces scaled = in_micro_batches(fewest, fewest_count, setup.micro_batches,
                                              static_cast<int>(c.model.experts));
  EXPECT_LE(least_bytes(scaled, c.model, setup, passes), least);
}

/// The setup's time under its best order; none where nothing fits. Checks the bounds on the way.
/// `fewest`: the setup with the fewest micro-batches of the same layout.
std::optional<double> best_of_orders(const DrawnCase& c, SetupInWhole& setup,
                                     const SetupInWhole& fewest) {
  const std::int64_t limit = c.costs.costed.cluster.memory_bytes;
  const Situation situation = setup.situation();
  std::optional<double> best;
  for (const OrderedSetup& one : ordered(c, setup)) {
    SCOPED_TRACE(std::string(one.order->name) + " " + moe::to_text(setup.setup.layout) + " " +
                 std::to_string(setup.setup.micro_batches));
    const auto pieces_of = [&](const SetupInWhole& of) -> const SetupPieces& {
      return one.sharded ? of.costs.sharded.front() : of.costs.whole;
    };
    const Passes passes = one.order->passes;
    if (const auto seconds = time_of(c, pieces_of(setup), setup.setup, situation, one)) {
      best = std::min(best.value_or(*seconds), *seconds);
      const double rounding = c.scenario.routing == "uniform" ? 1 : 0.98;
      EXPECT_LE(rounding * bound_s(pieces_of(setup), c.model, setup.setup, passes, limit),
                *seconds * (1 + 1e-9));
    }
    if (limit == 0) continue;
    const moe::Schedule light =
        one.keeps_all ? one.schedule : lightest_schedule(situation.program, one.schedule);
    check_least_bytes(c, setup.setup, passes, pieces_of(setup), pieces_of(fewest),
                      fewest.setup.micro_batches, planned_peak_bytes(situation, light));
  }
  return best;
}

/// Each setup's time under its best order, ascending.
std::vector<Tried> tried_one_by_one(const DrawnCase& c, std::vector<SetupInWhole>& setups) {
  std::vector<Tried> all;
  const SetupInWhole* fewest = nullptr;
  for (SetupInWhole& setup : setups) {
    setup.scenario.cluster.memory_bytes = c.costs.costed.cluster.memory_bytes;
    if (fewest == nullptr || !(fewest->setup.layout == setup.setup.layout)) fewest = &setup;
    const auto best = best_of_orders(c, setup, *fewest);
    if (best) all.push_back({setup.setup, *best});
  }
  std::ranges::stable_sort(all, {}, &Tried::seconds);
  return all;
}

/// The times that a search should give, each of another layout: the first half the fastest, then one of
/// each further pair of tp and pp.
std::vector<double> expected_times(const std::vector<Tried>& all, std::size_t top) {
  std::vector<double> times;
  std::set<std::pair<int, int>> kinds;
  std::vector<moe::Layout> layouts;
  for (const Tried& one : all) {
    const std::pair<int, int> kind{one.setup.layout.tensor, one.setup.layout.pipeline};
    if (times.size() >= top) break;
    if (times.size() >= (top + 1) / 2 && kinds.contains(kind)) continue;
    if (std::ranges::count(layouts, one.setup.layout) > 0) continue;
    layouts.push_back(one.setup.layout);
    kinds.insert(kind);
    times.push_back(one.seconds);
  }
  return times;
}

/// Limits of all kinds in turn.
Limit limit_of_case(int number) {
  constexpr std::array kLimits{Limit::none, Limit::half, Limit::restoring, Limit::restoring_whole};
  return kLimits[static_cast<std::size_t>(number) % kLimits.size()];
}

TEST(SearchProperty, PruningLosesNothing) {
  std::size_t simulated = 0, candidates = 0, simulated_sooner = 0;
  std::array<int, 3> cases{};  // by most_restored() of any row
  int number = 0;
  for (unsigned seed = 1; number < 50; ++seed) {
    SCOPED_TRACE(seed);
    DrawnCase c = drawn_case(seed, number);
    const SetupSpace space = setups_of(c.model, c.ranks, {}, c.micro_batches);
    if (space.setups.empty()) continue;
    const Limit limit = limit_of_case(number++);
    std::vector<SetupInWhole> setups;
    for (const TrainingSetup& setup : space.setups) {
      setups.push_back(in_whole(c, setup, limit != Limit::none));
    }
    std::int64_t& memory_bytes = c.costs.costed.cluster.memory_bytes;
    if (limit != Limit::none) memory_bytes = limit_of(setups, limit);
    const std::vector<Tried> all = tried_one_by_one(c, setups);
    ASSERT_FALSE(all.empty());
    SearchOptions options;
    options.layouts = LayoutRange{};
    options.micro_batches = c.micro_batches;
    options.orders = c.orders;
    options.top = 4;
    options.later_rows_within = 0;
    const SearchResult result = search_setups(c.scenario, c.model, c.costs, c.ranks, options);
    const std::vector<double> expected = expected_times(all, static_cast<std::size_t>(options.top));
    ASSERT_EQ(result.found.size(), expected.size());
    std::size_t most = 0;
    for (const FoundSetup& found : result.found) {
      most = std::max(most, most_restored(found.schedule));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(i);
      const FoundSetup& found = result.found[i];
      const auto its = std::ranges::find(setups, found.setup, &SetupInWhole::setup);
      ASSERT_NE(its, setups.end());
      EXPECT_NEAR(found.predicted_s, simulated_s(its->situation(), found.schedule),
                  1e-9 * expected[i]);
      EXPECT_LE(found.predicted_s, expected[i] * (1 + 1e-9));
      // The search may restore fewer blocks: it asks first how many fewer micro-batches need.
      if (most == 0) {
        EXPECT_GE(found.predicted_s, expected[i] * (1 - 1e-9));
      }
      if (memory_bytes > 0) {
        EXPECT_LE(found.peak.all(), memory_bytes);
      }
    }
    SearchOptions about = options;
    about.later_rows_within = 0.05;
    const SearchResult sooner = search_setups(c.scenario, c.model, c.costs, c.ranks, about);
    EXPECT_EQ(sooner.found.front().predicted_s, result.found.front().predicted_s);
    EXPECT_LE(sooner.simulated, result.simulated);
    simulated_sooner += sooner.simulated;
    ++cases[most];
    simulated += result.simulated;
    candidates += result.candidates;
  }
  EXPECT_GE(cases[1], 8);
  EXPECT_GE(cases[2], 8);
  EXPECT_LT(simulated_sooner, simulated);
  // It prunes at all: less than half of the candidates were simulated.
  EXPECT_LT(2 * simulated, candidates);
}

}  // namespace
}  // namespace tuner::search_property_test
