#include "microbench/compare/compare_runs.h"

#include <gmock/gmock.h>

#include <limits>

#include "db/store.h"
#include "moe/errors.h"
#include "tests/db/sample.h"
#include "tests/microbench/sampled_row.h"

namespace microbench::compare_runs_test {
namespace {

using testing::HasSubstr;

struct Place {
  std::string hostname = "n0", cpu = "a processor", network = "eth0 25 Gbit/s";
  int nodes = 2, threads = 4;
};

std::int64_t stored_run(db::Connection& connection, const Place& place, double time_s,
                        bool samples = true) {
  db::Machine machine = db::sample_machine();
  machine.hostname = place.hostname;
  machine.cpu = place.cpu;
  machine.fingerprint = place.hostname + place.cpu;
  db::Run run = db::sample_run(db::find_or_insert(connection, machine));
  run.network = place.network;
  const std::int64_t id = db::insert(connection, run);
  std::vector<db::RunRank> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank].run_id = id;
    ranks[rank].rank = rank;
    ranks[rank].hostname = place.hostname;
    ranks[rank].node = rank % place.nodes;
    ranks[rank].threads = place.threads;
  }
  db::insert(connection, ranks);
  db::SampledMeasurement row = all_reduce_row(1024);
  row.measurement.run_id = id;
  row.measurement.time_s = time_s;
  for (int i = 0; samples && i < 20; ++i) row.quantiles.push_back(time_s * (1 + 0.001 * i));
  db::insert(connection, std::vector{row});
  return id;
}

std::string refusal(const db::Connection& connection, const CompareSettings& settings) {
  try {
    compare_runs(connection, settings);
  } catch (const moe::InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(CompareRuns, TheNextAllocationOfTheSameKindIsComparable) {
  auto connection = db::open_writer(":memory:");
  const auto before = stored_run(connection, {}, 1), after = stored_run(connection, {"n7"}, 1.2);
  const Comparison c = compare_runs(connection, {before, after});
  ASSERT_EQ(c.cases.size(), 1U);
  EXPECT_TRUE(c.has_regressed());
  EXPECT_THAT(summary_line({before, after}, c), HasSubstr("1 cases: 1 slower"));
  EXPECT_FALSE(compare_runs(connection, {after, before}).has_regressed());
}

TEST(CompareRuns, LimitsAreSaid) {
  const CompareSettings settings{1, 2};
  Comparison c;
  c.cases.resize(2);
  c.cases[0].limit = 0.05;
  c.cases[1].limit = 0.171;
  c.all = {1.02, 0.99, 1.04};
  EXPECT_THAT(limit_lines(settings, c),
              testing::ElementsAre(HasSubstr("more than its limit: 5% to 17.1% (--least 5%,"),
                                   HasSubstr("by more than 5% and the whole interval")));
  c.cases.pop_back();
  c.all.high = std::numeric_limits<double>::infinity();
  EXPECT_THAT(limit_lines(settings, c), testing::ElementsAre(HasSubstr("its limit: 5% (--least")));
}

TEST(CompareRuns, AnotherPlaceIsRefusedAndNamedUnlessAskedFor) {
  auto connection = db::open_writer(":memory:");
  const auto before = stored_run(connection, {}, 1);
  const std::vector<std::pair<Place, std::string>> places = {
      {{.network = "eth0 100 Gbit/s"}, "network: eth0 25 Gbit/s in run"},
      {{.cpu = "another"}, "of another, "},
      {{.nodes = 1}, "nodes: 2 in run 1, 1 in run"},
      {{.threads = 8}, "threads of a rank: 4 in run 1, 8 in run"}};
  for (const auto& [place, text] : places) {
    const auto after = stored_run(connection, place, 1);
    EXPECT_THAT(refusal(connection, {before, after}), HasSubstr(text));
    EXPECT_THAT(refusal(connection, {before, after}), HasSubstr("--across"));
    EXPECT_EQ(compare_runs(connection, {before, after, 0.05, true}).cases.size(), 1U);
  }
}

TEST(CompareRuns, RunsWithoutSamplesOrCasesInCommonAreRefused) {
  auto connection = db::open_writer(":memory:");
  const auto before = stored_run(connection, {}, 1);
  const auto old = stored_run(connection, {}, 1, false);
  EXPECT_THAT(refusal(connection, {before, old}), HasSubstr("samples are stored of none"));
  EXPECT_THROW(compare_runs(connection, {before, 99}), db::Error);
}

}  // namespace
}  // namespace microbench::compare_runs_test
