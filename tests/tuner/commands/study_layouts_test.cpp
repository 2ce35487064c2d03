#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "db/load.h"
#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::study_layouts_test {
namespace {

using test::moe_tune;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct StudyLayouts : ::testing::Test {
  const db::TemporaryDirectory directory;
  const std::string database = directory.file("a.db");

  moe::ChildResult study(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"study",
                                       name,
                                       "--model",
                                       "micro",
                                       "--ranks",
                                       "2",
                                       "--db",
                                       database,
                                       "--planners",
                                       "tutel",
                                       "--top",
                                       "1",
                                       "--steps",
                                       "3",
                                       "--repeats",
                                       "2",
                                       "--profile-rounds",
                                       "1",
                                       "--format",
                                       "json",
                                       "--most-chunks",
                                       "2",
                                       "--most-of-others",
                                       "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return moe_tune(arguments);
  }
};

TEST_F(StudyLayouts, OneIsChosenBySearchOrSaidToBeTheUsualOne) {
  const auto chosen = study("s", {"--cluster", "box", "--dry-run"});
  EXPECT_EQ(chosen.code, 0) << chosen.errors;
  EXPECT_THAT(chosen.errors, HasSubstr("study \"s\": --layout "));
  EXPECT_THAT(chosen.errors, HasSubstr("layouts the fastest by search"));
  const auto usual = study("s", {"--dry-run"});
  EXPECT_EQ(usual.code, 0) << usual.errors;
  EXPECT_THAT(usual.errors, HasSubstr("study \"s\": all experts are over all ranks, as "));
  const auto asked = study("s", {"--dry-run", "--layout", "dp=2"});
  EXPECT_THAT(asked.errors, Not(HasSubstr("by search")));
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST_F(StudyLayouts, AreRefusedWithWhatWasExpected) {
  for (const char* wrong : {"best", "best:0", "best:x", "ep=3", "dp=2/dp=2", "dp=2/", ""}) {
    const auto refused = study("s", {"--cluster", "box", "--dry-run", "--layouts", wrong});
    EXPECT_EQ(refused.code, 2) << wrong << refused.errors;
    EXPECT_THAT(refused.errors, HasSubstr("--layouts")) << wrong;
  }
  EXPECT_EQ(study("s", {"--layouts", "all", "--layout", "dp=2"}).code, 2);
  const auto swept =
      study("s", {"--dry-run", "--layouts", "ep=2/dp=2", "--set", "moe.experts=2,4"});
  EXPECT_EQ(swept.code, 2);
  EXPECT_THAT(swept.errors, HasSubstr("expected one value of each key"));
  const auto unknown = study("s", {"--dry-run", "--layouts", "best:2"});
  EXPECT_EQ(unknown.code, 2) << "there are no costs";
  EXPECT_THAT(unknown.errors, HasSubstr("expected --cluster NAME"));
}

TEST_F(StudyLayouts, WithOtherKindsOfOpsAreProfiledBriefly) {
  const auto measured = study("s", {"--layouts", "dp=2,ep=1/ep=2/ep=2,tp=2"});
  ASSERT_EQ(measured.code, 0) << measured.errors;
  EXPECT_THAT(measured.errors, HasSubstr("ep=2: profile, round 1 of 1, in turns: sequential; "))
      << "the first that exchanges rows";
  EXPECT_THAT(measured.errors, HasSubstr("ep=2,tp=2: profiled briefly for "));
  EXPECT_THAT(measured.errors,
              ::testing::ContainsRegex("costs were profiled in [23] of 3 layouts: ep=2 [(]"));
  const db::Connection connection = db::open_reader(database);
  std::set<std::string> runs, costs;
  for (const db::Study& one : db::load_studies(connection)) {
    runs.insert(one.profile_runs_json);
    costs.insert(one.cost_model_json);
  }
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_EQ(costs.size(), 1u);
  // One of them alone goes on with the same costs, and profiles nothing.
  const auto alone = study("s dp=2,ep=1", {"--layout", "dp=2,ep=1", "--resume"});
  EXPECT_EQ(alone.code, 0) << alone.errors;
  EXPECT_THAT(alone.errors, Not(HasSubstr("profile, round")));
}

TEST_F(StudyLayouts, TakeTurnsInOneStudyAndEndInOneTable) {
  const auto dry = study("s", {"--layouts", "ep=2/dp=2", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.errors;
  std::set<std::string> planned;
  for (const auto& row : nlohmann::json::parse(dry.output)) planned.insert(row.at("layout"));
  EXPECT_EQ(planned, (std::set<std::string>{"ep=2", "dp=2,ep=1"}));
  const auto measured = study("s", {"--layouts", "ep=2/dp=2"});
  ASSERT_EQ(measured.code, 0) << measured.errors;
  const auto rows = nlohmann::json::parse(measured.output);
  std::set<std::string> layouts;
  std::set<int> places, predicted;
  double before_s = 0;
  for (const auto& row : rows) {
    layouts.insert(row.at("layout"));
    if (row.at("measured_s").is_null()) continue;
    EXPECT_EQ(row.at("predicted_peak_bytes"), row.at("measured_peak_bytes"))
        << row.at("layout") << row.at("planner");
    places.insert(row.at("place").get<int>());
    predicted.insert(row.at("predicted_place").get<int>());
    EXPECT_GE(row.at("measured_s").get<double>(), before_s);
    before_s = row.at("measured_s");
  }
  EXPECT_EQ(layouts, planned);
  EXPECT_EQ(places.size(), predicted.size());
  EXPECT_THAT(measured.errors, HasSubstr("layouts by their fastest trials: repeats tell "));
  EXPECT_THAT(measured.errors,
              HasSubstr("the arena of the fullest rank is predicted to the byte in "));
  EXPECT_THAT(measured.errors, Not(HasSubstr("farthest off")));
  EXPECT_THAT(measured.errors, HasSubstr("costs are those of the profile of layout ep=2"));
  const auto studies = db::load_studies(db::open_reader(database));
  ASSERT_EQ(studies.size(), 2u);
  for (const db::Study& one : studies) {
    EXPECT_EQ(one.part_of, "s");
    EXPECT_THAT(one.name, StartsWith("s "));
  }
  // It goes on with its layouts, and repeats nothing.
  const auto again = study("s", {"--layouts", "best:2", "--resume"});
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("study \"s\" goes on with its 2 layouts"));
  EXPECT_EQ(nlohmann::json::parse(again.output), rows);
  // The costs that were measured choose a layout from now on.
  const auto next = study("t", {"--dry-run"});
  EXPECT_THAT(next.errors, HasSubstr("study \"t\": --layout "));
  EXPECT_THAT(study("s ep=2", {"--dry-run", "--resume"}).errors, Not(HasSubstr("by search")))
      << "it was begun with its layout";
}

}  // namespace
}  // namespace tuner::study_layouts_test
