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
