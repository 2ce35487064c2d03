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
  MicroProfileOptions options;
  std::string said;

  void SetUp() override {
    std::filesystem::create_directories(directory);
    options.study = "s";
    options.trainings.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
    options.trainings.job.model = MOELAB_SOURCE_DIR "/experiments/models/micro.toml";
    options.trainings.job.database = (directory / "results.db").string();
    options.trainings.job.threads = 1;
    options.iterations = 3;
    options.dtype = "f64";
    options.time_limit_s = [](const moe::Schedule&) { return 60; };
    options.trainings.alive = [] {};
    options.trainings.say = [this](const std::string& text) { said += text + "\n"; };
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  db::Connection open() {
    db::Connection connection = db::open_writer(options.trainings.job.database);
    const char* argv[] = {"test"};
    options.run_id =
        db::begin_run(connection, db::this_run("study", "s", 1, argv), moe::this_machine());
    return connection;
  }
};

TEST_F(MicroProfilesTest, AreRunOnceAndStoredWithTheirRun) {
  db::Connection connection = open();
  const moe::Schedule cut{"any", {moe::PipelineSplit{1, moe::Phase::forward, 2}}};
  MicroProfiles profiles(connection, options);
  const double seconds = profiles.seconds(cut);
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(profiles.seconds(cut), seconds);
  EXPECT_EQ(MicroProfiles(connection, options).seconds(cut), seconds);
  const auto rows = db::load_measurements(connection, {.op = "micro_profile"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].run_id, options.run_id);
  EXPECT_EQ(rows[0].samples, 3);
  EXPECT_EQ(rows[0].time_s, seconds);
  const auto parameters = nlohmann::json::parse(rows[0].parameters_json);
  EXPECT_EQ(db::load_run(connection, parameters.at("run")).planner, "micro-profile");

  options.study = "another";
  MicroProfiles(connection, options).seconds(cut);
  EXPECT_EQ(db::load_measurements(connection, {.op = "micro_profile"}).size(), 2u);

  ++options.iterations;  // than are known
  const double longer = MicroProfiles(connection, options).seconds(cut);
  EXPECT_EQ(db::load_measurements(connection, {.op = "micro_profile"}).size(), 3u);
  --options.iterations;
  EXPECT_EQ(MicroProfiles(connection, options).seconds(cut), longer);
}

TEST_F(MicroProfilesTest, OfWhatFailsAreInfiniteAndRememberWhy) {
  db::Connection connection = open();
  options.trainings.job.memory_limit_bytes = 1000;
  EXPECT_TRUE(std::isinf(MicroProfiles(connection, options).seconds({"any", {}})));
  EXPECT_THAT(said, HasSubstr("out_of_memory"));
  options.trainings.job.program = "/nowhere";
  EXPECT_TRUE(std::isinf(MicroProfiles(connection, options).seconds({"any", {}}))) << "run again";
  const auto rows = db::load_measurements(connection, {.op = "micro_profile"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].samples, 0);
  EXPECT_THAT(rows[0].parameters_json, HasSubstr("of arena"));
}

}  // namespace
}  // namespace tuner::micro_profiles_test
