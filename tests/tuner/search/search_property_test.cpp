#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/search/search.h"
#include "tuner/search/setup_bound.h"

/// The search beside one that simulates every layout with every number of micro-batches and every
/// one of some drawn orders, over random models, clusters, routings and memory limits: pruning loses nothing, and no
/// bound lies above a time.
namespace tuner::search_property_test {
namespace {

struct DrawnCase {
  moe::Model model;
  MeasuredCosts costs;
  ScenarioOptions scenario;
  int ranks = 0;
  std::vector<const Planner*> orders;  ///< the usual ones and two others
};

DrawnCase drawn_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto log_between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  DrawnCase c;
  c.ranks = pick({2, 3, 4, 4, 6});
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
  c.orders = parse_orders("usual");
  std::vector<const Planner*> others = search_orders();
  std::erase_if(others, [&](const Planner* one) { return std::ranges::count(c.orders, one) > 0; });
  std::ranges::shuffle(others, random);
  c.orders.insert(c.orders.end(), others.begin(), others.begin() + 2);
  return c;
}

Scenario scenario_of_setup(const DrawnCase& c, const TrainingSetup& setup) {
  ScenarioOptions options = c.scenario;
  options.layout = moe::to_text(setup.layout);
  return scenario_of(options, with_setup(c.model, setup), c.costs);
}

/// The order's schedule in the setup, whatever memory it needs; none where it decides nothing of its
/// own, or is not legal with shard_optimizer.
std::optional<moe::Schedule> schedule_of(const Situation& situation, const Planner& order,
                                         const moe::Schedule& planned, bool sharded) {
  if (planned.decisions.empty() && order.passes != Passes::one_after_other) return std::nullopt;
  return sharded ? with_sharded_optimizer(situation.program, planned) : planned;
}

/// The time of a schedule, restored where memory asks for it; none where it does not fit.
std::optional<double> time_of(const Situation& situation, moe::Schedule schedule, bool sharded) {
  if (auto lighter = lighter_schedule(situation, schedule)) {
    const bool shares = !moe::decisions_of<moe::ShardOptimizer>(lighter->schedule).empty();
    if (!lighter->fits || shares != sharded) return std::nullopt;
    schedule = std::move(lighter->schedule);
  }
  return simulated_s(situation, schedule);
}

struct Tried {
  TrainingSetup setup;
  double seconds = 0;
};

/// The pieces of the setup; where memory is limited, with what they keep though it may not fit.
SetupCosts costs_of_setup(const DrawnCase& c, const TrainingSetup& setup) {
  CostedCluster costed = c.costs.costed;
  if (costed.cluster.memory_bytes > 0) costed.cluster.memory_bytes = std::int64_t{1} << 50;
  return setup_costs(c.model, setup, costed, c.scenario.routing);
}

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

/// Each setup's time under its best order, ascending; checks the bounds on the way.
std::vector<Tried> tried_one_by_one(const DrawnCase& c, const SetupSpace& space) {
  std::vector<Tried> all;
  std::optional<SetupCosts> fewest;
  TrainingSetup of_fewest;
  for (const TrainingSetup& setup : space.setups) {
    const Scenario scenario = scenario_of_setup(c, setup);
    Situation situation = scenario.situation();
    PlanMemory memory;
    situation.memory = &memory;
    const SetupCosts costs = costs_of_setup(c, setup);
    if (!fewest || !(of_fewest.layout == setup.layout)) {  // the first of a layout
      fewest = costs;
      of_fewest = setup;
    }
    std::optional<double> best;
    for (const Planner* const order : c.orders) {
      const moe::Schedule planned = order->plan(situation, {});
      for (const bool sharded : {false, true}) {
        if (sharded && costs.sharded.empty()) continue;
        const auto schedule = schedule_of(situation, *order, planned, sharded);
        if (!schedule) continue;
        const auto seconds = time_of(situation, *schedule, sharded);
        if (seconds) best = std::min(best.value_or(*seconds), *seconds);
        const SetupPieces& pieces = sharded ? costs.sharded.front() : costs.whole;
        SCOPED_TRACE(std::string(order->name) + " " + moe::to_text(setup.layout) + " " +
                     std::to_string(setup.micro_batches));
        const std::int64_t limit = c.costs.costed.cluster.memory_bytes;
        if (seconds) {
          const double rounding = c.scenario.routing == "uniform" ? 1 : 0.98;
          EXPECT_LE(rounding * bound_s(pieces, c.model, setup, order->passes, limit),
                    *seconds * (1 + 1e-9));
        }
        if (limit == 0) continue;
        const bool keeps_all = !sharded && !costs.sharded.empty();
        const moe::Schedule light =
            keeps_all ? *schedule : lightest_schedule(situation.program, *schedule);
        check_least_bytes(c, setup, order->passes, pieces,
                          sharded ? fewest->sharded.front() : fewest->whole,
                          of_fewest.micro_batches, planned_peak_bytes(situation, light));
      }
    }
    if (best) all.push_back({setup, *best});
  }
  std::ranges::stable_sort(all, {}, &Tried::seconds);
  return all;
}

/// The times that a search should give: the first half the fastest, then one of each further pair
/// of tp and pp.
std::vector<double> expected_times(const std::vector<Tried>& all, std::size_t top) {
  std::vector<double> times;
  std::set<std::pair<int, int>> kinds;
  for (const Tried& one : all) {
    const std::pair<int, int> kind{one.setup.layout.tensor, one.setup.layout.pipeline};
    if (times.size() >= top) break;
    if (times.size() >= (top + 1) / 2 && kinds.contains(kind)) continue;
    kinds.insert(kind);
    times.push_back(one.seconds);
  }
  return times;
}

TEST(SearchProperty, PruningLosesNothing) {
  int simulated = 0, candidates = 0, limited = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    DrawnCase c = drawn_case(seed);
    const SetupSpace space = setups_of(c.model, c.ranks, {}, std::nullopt);
    if (space.setups.empty()) continue;
    SearchOptions options;
    options.layouts = LayoutRange{};
    options.orders = c.orders;
    options.top = 4;
    if (seed % 2 == 0) {  // a limit that about half of what was found does not keep
      options.top = 8;
      std::vector<std::int64_t> peaks;
      for (const FoundSetup& one :
           search_setups(c.scenario, c.model, c.costs, c.ranks, options).found) {
        peaks.push_back(one.peak.all());
      }
      std::ranges::sort(peaks);
      c.costs.costed.cluster.memory_bytes = peaks[peaks.size() / 2];
      options.top = 4;
      ++limited;
    }
    const std::vector<Tried> all = tried_one_by_one(c, space);
    ASSERT_FALSE(all.empty());
    const SearchResult result = search_setups(c.scenario, c.model, c.costs, c.ranks, options);
    const std::vector<double> expected = expected_times(all, static_cast<std::size_t>(options.top));
    ASSERT_EQ(result.found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(result.found[i].predicted_s, expected[i], 1e-9 * expected[i]) << i;
      if (c.costs.costed.cluster.memory_bytes > 0) {
        EXPECT_LE(result.found[i].peak.all(), c.costs.costed.cluster.memory_bytes);
      }
    }
    simulated += static_cast<int>(result.simulated);
    candidates += static_cast<int>(result.candidates);
  }
  EXPECT_GT(limited, 20);
  // It prunes at all: less than half of the candidates were simulated.
  EXPECT_LT(2 * simulated, candidates);
}

}  // namespace
}  // namespace tuner::search_property_test
