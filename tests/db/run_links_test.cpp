#include "db/run_links.h"

#include <gmock/gmock.h>

#include "db/statement.h"
#include "db/store.h"
#include "tests/db/sample.h"

namespace db::run_links_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Two ranks on each host; links at 100 bytes a second, but from `slow` at a third.
struct Cluster {
  std::vector<RunRank> ranks;
  std::vector<RunLink> links;
};
Cluster cluster(int hosts, int slow, std::int64_t transfers = 100) {
  Cluster made;
  for (int rank = 0; rank < 2 * hosts; ++rank) {
    RunRank one;
    one.run_id = 1;
    one.rank = rank;
    one.node = rank / 2;
    one.hostname = "n" + std::to_string(rank / 2);
    made.ranks.push_back(one);
    for (int from = 0; from < 2 * hosts; ++from) {
      if (from / 2 == rank / 2) continue;
      made.links.push_back({.run_id = 1,
                            .from_rank = from,
                            .to_rank = rank,
                            .transfers = transfers,
                            .bytes = 3000 * transfers,
                            .busy_s = 30.0 * static_cast<double>(transfers),
                            .bandwidth_bytes_per_s = from / 2 == slow ? 30.0 : 100.0,
                            .relative_error = 0.05});
    }
  }
  return made;
}

std::vector<std::string> slow(const std::vector<RunLink>& links,
                              const std::vector<RunRank>& ranks) {
  return judge_hosts(links, ranks).slow_players;
}

TEST(RunLinks, AHostWithASlowCardIsNamed) {
  const Cluster of = cluster(4, 2);
  EXPECT_THAT(slow(of.links, of.ranks), ElementsAre("n2: 0.30 of the median, out"));
}

TEST(RunLinks, ThatOthersSendToAHostFirstMakesNobodySlow) {
  // A rank sends to the next one first: that is fast, and what it sends to the one before it is slow.
  const auto in_order = [](Cluster of, int hosts) {
    for (RunLink& link : of.links) {
      const int apart = (link.to_rank / 2 - link.from_rank / 2 + hosts) % hosts;
      link.bandwidth_bytes_per_s /= apart * apart;
    }
    return of;
  };
  const Cluster alike = in_order(cluster(4, -1), 4), one = in_order(cluster(4, 2), 4);
  EXPECT_THAT(slow(alike.links, alike.ranks), IsEmpty());
  EXPECT_THAT(slow(one.links, one.ranks), ElementsAre("n2: 0.30 of the median, out"));
}

TEST(RunLinks, BothDirectionsOfOneOfThreeHostsAreNamed) {
  Cluster of = cluster(3, 2);
  for (RunLink& link : of.links) {
    if (link.to_rank / 2 == 2) link.bandwidth_bytes_per_s = 30;
  }
  EXPECT_THAT(slow(of.links, of.ranks), ElementsAre("n2: 0.30 of the median, out and in"));
}

TEST(RunLinks, NobodyIsNamedWithoutEvidence) {
  EXPECT_THAT(slow(cluster(4, -1).links, cluster(4, -1).ranks), IsEmpty()) << "all alike";
  EXPECT_THAT(slow(cluster(2, 1).links, cluster(2, 1).ranks), IsEmpty()) << "of two hosts";
  EXPECT_THAT(slow(cluster(4, 2, 3).links, cluster(4, 2, 3).ranks), IsEmpty()) << "few";
  EXPECT_THAT(slow({}, cluster(4, 2).ranks), IsEmpty()) << "nothing was exchanged";
  Cluster noisy = cluster(4, 2);
  for (RunLink& link : noisy.links) link.relative_error = 0.5;
  EXPECT_THAT(slow(noisy.links, noisy.ranks), IsEmpty()) << "noise";
  Cluster shared = cluster(4, 2);
  shared.ranks[3].share_of_others = 0.5;
  EXPECT_THAT(slow(shared.links, shared.ranks), IsEmpty()) << "others compute there";
}

TEST(RunLinks, ComeBackAsTheyWereStoredAndByHostFromTheView) {
  auto connection = open_writer(":memory:");
  db::Run run = sample_run(find_or_insert(connection, sample_machine()));
  run.ranks = 6;
  const std::int64_t id = insert(connection, run);
  Cluster of = cluster(3, 2);
  for (RunRank& rank : of.ranks) rank.run_id = id;
  for (RunLink& link : of.links) link.run_id = id;
  insert(connection, of.ranks);
  insert(connection, of.links);
  const std::vector<RunLink> stored = load_run_links(connection, id);
  ASSERT_EQ(stored.size(), of.links.size());
  EXPECT_EQ(stored[5].from_rank, of.links[5].from_rank);
  EXPECT_EQ(stored[5].bandwidth_bytes_per_s, of.links[5].bandwidth_bytes_per_s);
  Statement view(connection,
                 "SELECT from_host, to_host, transfers, bytes, busy_s, bandwidth_bytes_per_s, "
                 "of_median FROM link_view WHERE run = ? AND from_host = 'n2' ORDER BY to_host");
  view.bind(id);
  ASSERT_TRUE(view.step());
  EXPECT_EQ(view.value<std::string>(1), "n0");
  EXPECT_EQ(view.value<std::int64_t>(2), 400);
  EXPECT_EQ(view.value<std::int64_t>(3), 1'200'000);
  EXPECT_DOUBLE_EQ(view.value<double>(4), 12'000);
  EXPECT_DOUBLE_EQ(view.value<double>(5), 30);
  EXPECT_DOUBLE_EQ(view.value<double>(6), 0.3);
  ASSERT_TRUE(view.step());
  EXPECT_FALSE(view.step());
  Statement(connection, "UPDATE run_link SET to_rank = 7 WHERE from_rank = 0 AND to_rank = 2")
      .run();
  EXPECT_THROW(load_run_links(connection, id), WrongValue);
}

}  // namespace
}  // namespace db::run_links_test
