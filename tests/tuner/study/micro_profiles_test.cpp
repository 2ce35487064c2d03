#include "tuner/study/micro_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "moe/run/machine.h"

namespace tuner::micro_profiles_test {
namespace {

using ::testing::HasSubstr;

/// Micro-profiles of the smallest model, by the moe-train that was built beside the tests.
struct MicroProfilesTest : ::testing::Test {
  std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / ("micro_profiles" + std::to_string(getpid()));
  StudyOptions options;
  StudyTrainings trainings{options};
  db::Study study;
  std::int64_t run_id = 0;
  std::string said;

  void SetUp() override {
    std::filesystem::create_directories(directory);
    study.name = "s";
    options.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
    options.job.model = MOELAB_SOURCE_DIR "/experiments/models/micro.toml";
    options.job.database = (directory / "results.db").string();
    options.job.threads = 1;
    options.micro_profile_steps = 3;
    options.trial_time_limit_s = 60;
    options.most_of_others = 1;  // other tests run beside
    options.say = [this](const std::string& text) { said += text + "\n"; };
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  db::Connection open() {
    db::Connection connection = db::open_writer(options.job.database);
    const char* argv[] = {"test"};
    run_id = db::begin_run(connection, db::this_run("study", "s", 1, argv), moe::this_machine());
    return connection;
  }
  MicroProfiles profiles(db::Connection& connection) {
    return {connection, study, run_id, trainings, [](const moe::Schedule&) { return 1.0; }};
  }
};

TEST_F(MicroProfilesTest, AreRunOnceAndStoredWithTheirRun) {
  db::Connection connection = open();
  const moe::Schedule cut{"any", {moe::PipelineSplit{1, moe::Phase::forward, 2}}};
  MicroProfiles known = profiles(connection);
  const double seconds = known.seconds(cut);
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(known.seconds(cut), seconds);
  EXPECT_EQ(profiles(connection).seconds(cut), seconds);
  const auto rows = db::load_measurements(connection, {.op = "micro_profile"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].run_id, run_id);
  EXPECT_EQ(rows[0].samples, 3);
  EXPECT_EQ(rows[0].time_s, seconds);
  const auto parameters = nlohmann::json::parse(rows[0].parameters_json);
  EXPECT_EQ(db::load_run(connection, parameters.at("run")).planner, "micro-profile");

  study.name = "another";
  profiles(connection).seconds(cut);
  EXPECT_EQ(db::load_measurements(connection, {.op = "micro_profile"}).size(), 2u);

  ++options.micro_profile_steps;  // than are known
  const double longer = profiles(connection).seconds(cut);
  EXPECT_EQ(db::load_measurements(connection, {.op = "micro_profile"}).size(), 3u);
  --options.micro_profile_steps;
  EXPECT_EQ(profiles(connection).seconds(cut), longer);
}

TEST_F(MicroProfilesTest, OfWhatFailsAreInfiniteAndRememberWhy) {
  db::Connection connection = open();
  options.job.memory_limit_bytes = 1000;
  EXPECT_TRUE(std::isinf(profiles(connection).seconds({"any", {}})));
  EXPECT_THAT(said, HasSubstr("out_of_memory"));
  options.job.program = "/nowhere";
  EXPECT_TRUE(std::isinf(profiles(connection).seconds({"any", {}}))) << "run again";
  const auto rows = db::load_measurements(connection, {.op = "micro_profile"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].samples, 0);
  EXPECT_THAT(rows[0].parameters_json, HasSubstr("of arena"));
}

}  // namespace
}  // namespace tuner::micro_profiles_test
