#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/tuner/search/small_setups.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/search/search.h"

/// A search that takes every Program for a large one, beside one that takes none.
namespace tuner::search_of_large_programs_test {
namespace {

struct LargeCase {
  std::string layout, order;
  double memory_share = 0;  ///< of what the order needs; 0: any memory
};

void PrintTo(const LargeCase& c, std::ostream* out) {
  *out << c.order << " of " << c.layout << " in " << c.memory_share << " of its memory";
}

class LargePrograms : public testing::TestWithParam<LargeCase> {};

TEST_P(LargePrograms, ArePredictedAboutAsInWhole) {
  const LargeCase& c = GetParam();
  const moe::Model model = test::small_setup_model(8, 128);
  MeasuredCosts costs;
  costs.costed = test::small_setup_cluster(2, 2);
  ScenarioOptions scenario;
  scenario.routing = "uniform";
  scenario.ranks = 4;
  SearchOptions options;
  options.layouts = parse_layout_range(c.layout);
  options.micro_batches = {32};
  options.orders = {&planner_named(c.order)};
  options.top = 1;
  SearchResult whole = search_setups(scenario, model, costs, 4, options);
  if (c.memory_share > 0) {
    options.memory_bytes = static_cast<std::int64_t>(
        c.memory_share * static_cast<double>(whole.found.front().peak.all()));
    whole = search_setups(scenario, model, costs, 4, options);
  }
  options.most_whole_ops = 1;
  const FoundSetup about = search_setups(scenario, model, costs, 4, options).found.front();
  EXPECT_LT(about.simulated_micro_batches, 32);
  EXPECT_EQ(whole.found.front().simulated_micro_batches, 32);

  scenario.layout = moe::to_text(about.setup.layout);
  const Scenario of_all = scenario_of(scenario, with_setup(model, about.setup), costs);
  const Situation situation = of_all.situation();
  const double seconds = simulated_s(situation, about.schedule);
  EXPECT_NEAR(about.predicted_s, seconds, 0.01 * seconds);
  EXPECT_NEAR(about.predicted_s, whole.found.front().predicted_s, 0.05 * seconds);
  const auto bytes = static_cast<double>(planned_peak_bytes(situation, about.schedule));
  // Two micro-batches of two_batch take less than each two of four or more.
  EXPECT_NEAR(static_cast<double>(about.peak.all()), bytes,
              (c.order == "two_batch" ? 0.06 : 0.03) * bytes);
  if (c.memory_share > 0) {
    EXPECT_FALSE(moe::decisions_of<moe::RestoreBlock>(about.schedule).empty());
    EXPECT_LE(bytes, 1.03 * static_cast<double>(options.memory_bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LargePrograms,
                         testing::Values(LargeCase{"pp=1,ep=4,tp=1,esp=1", "sequential"},
                                         LargeCase{"pp=1,ep=4,tp=1,esp=1", "two_batch"},
                                         LargeCase{"pp=1,ep=4,tp=1,esp=1", "two_batch", 0.7},
                                         LargeCase{"pp=2,ep=2,tp=1,esp=1", "one_f_one_b"},
                                         LargeCase{"pp=4,ep=1,tp=1,esp=1", "one_f_one_b"},
                                         LargeCase{"pp=4,ep=1,tp=1,esp=1", "one_f_one_b", 0.9},
                                         LargeCase{"pp=4,ep=1,tp=1,esp=1", "one_f_one_b", 0.7},
                                         LargeCase{"pp=2,ep=2,tp=1,esp=1", "gpipe"},
                                         LargeCase{"pp=2,ep=2,tp=1,esp=1", "gpipe", 0.8}));

}  // namespace
}  // namespace tuner::search_of_large_programs_test
