#include "viewer/model/link_maps.h"

#include <gmock/gmock.h>

#include "db/measurement_samples.h"
#include "db/run_links.h"
#include "db/store.h"
#include "tests/db/sample.h"

namespace viewer::link_maps_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LinkMapsTest : public testing::Test {
 protected:
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t run = [this] {
    db::Run one = db::sample_run(db::find_or_insert(connection, db::sample_machine()));
    one.ranks = 8;
    return db::insert(connection, one);
  }();

  /// Messages of moe-bench pairs between ranks 0, 2 ..., each on a host of its own.
  void add_pairs(std::int64_t bytes, double time_s, int slow_rank) {
    std::vector<db::SampledMeasurement> rows;
    for (int from = 0; from < 8; from += 2) {
      for (int to = 0; to < 8; to += 2) {
        if (from == to) continue;
        db::SampledMeasurement& row = rows.emplace_back();
        row.measurement.run_id = run;
        row.measurement.op = "ping_pong";
        row.measurement.device = "cpu";
        row.measurement.dtype = "f32";
        row.measurement.ranks = 2;
        row.measurement.parameters_json = R"({"from":)" + std::to_string(from) +
                                          R"(,"from_host":"n)" + std::to_string(from / 2) +
                                          R"(","to":)" + std::to_string(to) + R"(,"to_host":"n)" +
                                          std::to_string(to / 2) + R"("})";
        row.measurement.bytes = bytes;
        row.measurement.time_s = time_s * (from == slow_rank ? 4 : 1);
        row.quantiles.assign(5, row.measurement.time_s);
      }
    }
    db::insert(connection, rows);
  }
};

TEST_F(LinkMapsTest, OfPairsAreTheLongestMessagesAndTheLatency) {
  add_pairs(8, 50e-6, -1);
  add_pairs(65536, 1e-3, -1);
  add_pairs(4 << 20, 0.004194304, 4);
  const std::vector<LinkMap> maps = load_link_maps(connection, run);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].title, "Messages of 4.00 MiB, GB/s");
  EXPECT_THAT(maps[0].names, ElementsAre("n0", "n1", "n2", "n3"));
  EXPECT_NEAR(maps[0].value[0][1], 1, 1e-9);
  EXPECT_NEAR(maps[0].value[2][1], 0.25, 1e-9);
  EXPECT_NEAR(maps[0].median, 1, 1e-9);
  EXPECT_EQ(maps[0].value[1][1], 0);
  EXPECT_EQ(maps[0].marked, 2);
  EXPECT_EQ(finding_text(maps[0]), "n2: 0.25 of the median, out");
  EXPECT_TRUE(maps[1].latency);
  EXPECT_NEAR(maps[1].value[0][1], 50, 1e-9);
  EXPECT_EQ(maps[1].marked, -1);
  EXPECT_EQ(finding_text(maps[1]), "none is slower than the others");
}

TEST_F(LinkMapsTest, OfATrainingAreItsExchanges) {
  EXPECT_THAT(load_link_maps(connection, run), IsEmpty());
  std::vector<db::RunRank> ranks(3);
  std::vector<db::RunLink> links;
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<std::size_t>(rank)].run_id = run;
    ranks[static_cast<std::size_t>(rank)].rank = rank;
    ranks[static_cast<std::size_t>(rank)].hostname = "n" + std::to_string(rank);
    for (int from = 0; from < 3; ++from) {
      if (from == rank) continue;
      links.push_back({.run_id = run,
                       .from_rank = from,
                       .to_rank = rank,
                       .transfers = 100,
                       .bytes = 1'000'000,
                       .busy_s = 1,
                       .bandwidth_bytes_per_s = from == 1 ? 1e9 : 2e9});
    }
  }
  db::insert(connection, ranks);
  db::insert(connection, links);
  const std::vector<LinkMap> maps = load_link_maps(connection, run);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_NEAR(maps[0].value[0][1], 2, 1e-9);
  EXPECT_EQ(finding_text(maps[0]), "n1: 0.50 of the median, out");
  EXPECT_EQ(maps[0].marked, 1);
}

}  // namespace
}  // namespace viewer::link_maps_test
