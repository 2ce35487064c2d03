#include "tuner/study/study_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "moe/errors.h"
#include "tests/db/sample.h"

namespace tuner::study_place_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A study that was begun over this network by a build.
class StudyPlaceTest : public ::testing::Test {
 protected:
  db::Connection connection = db::open_writer(":memory:");
  db::Study study;

  StudyPlaceTest() {
    study.name = "s";
    study.settings_json = study.model_json = study.cluster_json = "{}";
    study.created_at = 1000;
    study.profile_runs_json = "[" + std::to_string(add_run("train", "box 1 Gbit/s")) + "]";
    study.id = db::insert(connection, study);
  }
  std::int64_t add_run(const std::string& kind, const std::string& network, int nodes = 2,
                       const std::string& first_host = "node0") {
    db::Run run = db::sample_run(db::find_or_insert(connection, db::sample_machine()));
    run.kind = kind;
    run.name = study.name;
    run.network = network;
    run.revision = "1111";
    run.started_at = 2000;
    const std::int64_t id = db::insert(connection, run);
    std::vector<db::RunRank> ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
      db::RunRank& one = ranks[static_cast<std::size_t>(rank)];
      one.run_id = id;
      one.rank = rank;
      one.node = rank % nodes;
      one.hostname = rank == 0 ? first_host : "node1";
    }
    db::insert(connection, ranks);
    return id;
  }
  MeasuredPlace here(const std::string& network, const std::string& revision = "1111") const {
    return {"node5", "a processor", 4, "", network, 0, revision};
  }
};

TEST_F(StudyPlaceTest, AnotherNetworkOrMachineIsRefusedBeforeAnythingIsTrained) {
  add_run("study", "box 1 Gbit/s");
  EXPECT_EQ(check_begun_here(connection, study, here("box 1 Gbit/s")), "");
  EXPECT_THAT([&] { check_begun_here(connection, study, here("box 0.05 Gbit/s")); },
              ThrowsMessage<moe::InputError>(
                  "study \"s\" was measured elsewhere: network box 1 Gbit/s, here box 0.05 Gbit/s: "
                  "go on with it there, or name another study"));
  MeasuredPlace faster = here("box 1 Gbit/s");
  faster.cpu = "another";
  EXPECT_THAT(
      [&] { check_begun_here(connection, study, faster); },
      ThrowsMessage<moe::InputError>(HasSubstr("machine a processor, 4 cores, here another, "
                                               "4 cores")));
}

TEST_F(StudyPlaceTest, AStudyIsComparedWithWhereItWasBegunAndNotWithItsTrainings) {
  add_run("study", "eth0 1 Gbit/s");  // on a node from which trainings are sent to others
  EXPECT_EQ(check_begun_here(connection, study, here("eth0 1 Gbit/s")), "");
  EXPECT_THROW(check_begun_here(connection, study, here("eth0 25 Gbit/s")), moe::InputError);
}

TEST_F(StudyPlaceTest, WithoutSuchARunItsTrainingsTell) {
  EXPECT_THROW(check_begun_here(connection, study, here("box 2 Gbit/s")), moe::InputError);
  study.profile_runs_json = "[]";
  EXPECT_EQ(check_begun_here(connection, study, here("box 2 Gbit/s")), "") << "nothing is known";
}

TEST_F(StudyPlaceTest, AnotherBuildIsToldWithBoth) {
  add_run("study", "box 1 Gbit/s");
  EXPECT_THAT(check_begun_here(connection, study, here("box 1 Gbit/s", "2222")),
              HasSubstr("was measured with build 1111, this is build 2222"));
}

TEST_F(StudyPlaceTest, ATrainingElsewhereDoesNotCount) {
  StudyPlace place(connection, study);
  EXPECT_EQ(place.check(add_run("train", "box 1 Gbit/s")), "");
  EXPECT_THAT([&] { place.check(add_run("train", "box 1 Gbit/s", 1)); },
              ThrowsMessage<moe::InputError>(AllOf(HasSubstr("was measured elsewhere than run "),
                                                   HasSubstr("2 nodes, here 1"),
                                                   HasSubstr("it does not count"))));
  EXPECT_THROW(place.check(add_run("train", "box 0.05 Gbit/s")), moe::InputError);
  EXPECT_THAT(place.check(add_run("train", "box 1 Gbit/s", 2, "node7")),
              HasSubstr("was begun on node0, node1, and is now measured on node1, node7"));
  EXPECT_EQ(place.check(add_run("train", "box 1 Gbit/s", 2, "node8")), "") << "it was told";
}

TEST_F(StudyPlaceTest, TheFirstTrainingOfANewStudyIsItsPlace) {
  study.profile_runs_json = "";
  StudyPlace place(connection, study);
  EXPECT_EQ(place.check(add_run("train", "box 5 Gbit/s")), "");
  EXPECT_THROW(place.check(add_run("train", "box 6 Gbit/s")), moe::InputError);
}

}  // namespace
}  // namespace tuner::study_place_test
