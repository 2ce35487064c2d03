#include "tuner/scenario/measured_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "moe/errors.h"
#include "tests/db/sample.h"

namespace tuner::measured_place_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

MeasuredPlace on(const std::string& network, int nodes = 2) {
  return {"n0", "a processor", 4, "", network, nodes, "1111"};
}

TEST(MeasuredPlace, DiffersByMachineAndNetworkAndNotByTheHost) {
  MeasuredPlace other = on("box 0.3 Gbit/s");
  other.host = "n7";
  EXPECT_THAT(differences(on("box 0.3 Gbit/s"), other), ElementsAre());
  EXPECT_THAT(differences(on("box 0.3 Gbit/s"), on("box 1 Gbit/s")),
              ElementsAre("network box 0.3 Gbit/s, here box 1 Gbit/s"));
  other.cores = 8;
  EXPECT_THAT(differences(on("box 0.3 Gbit/s"), other),
              ElementsAre("machine a processor, 4 cores, here a processor, 8 cores"));
  other = on("box 0.3 Gbit/s");
  other.gpu = "a card";
  EXPECT_THAT(differences(on("box 0.3 Gbit/s"), other), ElementsAre()) << "the other is not known";
}

TEST(MeasuredPlace, OfOneNodeHasNoNetworkThatMatters) {
  EXPECT_THAT(differences(on("eth0 1 Gbit/s", 1), on("eth0 25 Gbit/s", 1)), ElementsAre());
  EXPECT_EQ(differences(on("eth0 1 Gbit/s", 2), on("eth0 25 Gbit/s", 0)).size(), 1u);
  EXPECT_THAT(differences(on("", 2), on("eth0 25 Gbit/s", 2)), ElementsAre()) << "not known";
  EXPECT_THAT(differences(on("box 1 Gbit/s", 1), on("", 0)),
              ElementsAre("network box 1 Gbit/s, here not known"));
}

TEST(MeasuredPlace, TellsNodesAndBuilds) {
  EXPECT_EQ(other_nodes(on("", 2), on("", 1)), "2 nodes, here 1");
  EXPECT_EQ(other_nodes(on("", 2), on("", 0)), "");
  MeasuredPlace newer = on("");
  newer.revision = "2222";
  EXPECT_EQ(other_build(on(""), newer), "build 1111, here 2222");
  EXPECT_EQ(measured_elsewhere("they were", on(""), newer),
            "they were measured elsewhere: build 1111, here 2222");
  EXPECT_EQ(measured_elsewhere("they were", on(""), on("")), "");
}

TEST(MeasuredPlace, IsWhatIsAskedForOrTheOnlyOneOrHere) {
  const std::vector<MeasuredPlace> places{on("box 0.5 Gbit/s"), on("paced box 0.5 Gbit/s")};
  EXPECT_EQ(chosen_place({on("box 0.5 Gbit/s")}, "", on("eth0 1 Gbit/s"), "a.db"), 0u);
  EXPECT_EQ(chosen_place(places, "", on("paced box 0.5 Gbit/s"), "a.db"), 1u);
  EXPECT_EQ(chosen_place(places, "paced", on(""), "a.db"), 1u);
  EXPECT_EQ(chosen_place(places, "box 0.5 Gbit/s", on(""), "a.db"), 0u) << "all of it";
  EXPECT_THAT([&] { chosen_place(places, "", on(""), "a.db"); },
              ThrowsMessage<moe::InputError>(
                  AllOf(HasSubstr("--cluster measured: a.db was measured at n0 (a processor, 4 "
                                  "cores; box 0.5 Gbit/s) and at n0 (a processor, 4 cores; paced"),
                        HasSubstr("choose with --cluster measured:TEXT"))));
  EXPECT_THROW(chosen_place(places, "0.5", on(""), "a.db"), moe::InputError) << "both";
  EXPECT_THROW(chosen_place({places.front()}, "25", on(""), "a.db"), moe::InputError);
}

TEST(MeasuredPlace, OfTwoNetworksAreTwoWhereAThirdIsNotKnown) {
  const MeasuredPlace slow = on("eth0 1 Gbit/s"), fast = on("eth0 10 Gbit/s"), unknown = on("");
  for (const auto& measured : {std::vector{unknown, slow, fast}, std::vector{slow, unknown, fast},
                               std::vector{slow, fast, unknown}}) {
    const DistinctPlaces distinct = distinct_places(measured);
    EXPECT_EQ(distinct.places.size(), 3u);
    EXPECT_THAT(distinct.number_of, ElementsAre(0, 1, 2));
    const auto chosen = [&](const std::string& asked, const MeasuredPlace& here) {
      return distinct.places[chosen_place(distinct.places, asked, here, "a.db")].network;
    };
    EXPECT_EQ(chosen("1 Gbit", on("")), slow.network);
    EXPECT_EQ(chosen("network not known", slow), "");
    EXPECT_EQ(chosen("", fast), fast.network) << "the one that is here";
    EXPECT_EQ(chosen("", on("eth1 25 Gbit/s")), "") << "the only one that may be here";
  }
}

TEST(MeasuredPlace, OfOneMachineAreOneWhereNoNetworkMatters) {
  EXPECT_THAT(
      distinct_places({on("eth0 1 Gbit/s", 1), on("", 1), on("eth0 10 Gbit/s", 0)}).number_of,
      ElementsAre(0, 0, 0));
  EXPECT_THAT(distinct_places({on("eth0 1 Gbit/s", 1), on("box 1 Gbit/s", 1)}).number_of,
              ElementsAre(0, 1));
  // Nodes of one network are one place; another network is another then.
  const DistinctPlaces mixed =
      distinct_places({on("eth0 1 Gbit/s", 1), on("eth0 1 Gbit/s", 2), on("eth0 10 Gbit/s", 1)});
  EXPECT_THAT(mixed.number_of, ElementsAre(0, 0, 1));
  EXPECT_EQ(mixed.places[0].nodes, 2);
}

TEST(MeasuredPlace, OfARunIsThatOfItsMachineAndRanks) {
  db::Connection connection = db::open_writer(":memory:");
  db::Run run = db::sample_run(db::find_or_insert(connection, db::sample_machine()));
  run.network = "box 1 Gbit/s";
  run.revision = "1234";
  run.id = db::insert(connection, run);
  std::vector<db::RunRank> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)].run_id = run.id;
    ranks[static_cast<std::size_t>(rank)].rank = ranks[static_cast<std::size_t>(rank)].node = rank;
  }
  db::insert(connection, ranks);
  const MeasuredPlace place = place_of_run(connection, run.id);
  EXPECT_EQ(place.nodes, 2);
  EXPECT_EQ(place.revision, "1234");
  EXPECT_EQ(text_of(place), "node0 (a processor, 4 cores; box 1 Gbit/s)");
}

}  // namespace
}  // namespace tuner::measured_place_test
