#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "db/load.h"
#include "tuner/study/study.h"

namespace tuner {

/// Studies of the smallest model on one rank, run by the moe-train that was built beside the tests.
struct StudyTest : ::testing::Test {
  std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / ("study_test" + std::to_string(getpid()));
  std::string database = (directory / "results.db").string();

  std::string text = (directory / "text").string();

  void SetUp() override {
    std::filesystem::create_directories(directory);
    std::ofstream file(text);
    for (int i = 0; i < 4096; ++i) file << i << " times " << i << " is " << i * i << "\n";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  StudyOptions options(const std::string& name = "s") {
    StudyOptions o;
    o.name = name;
    const std::string model = MOELAB_SOURCE_DIR "/experiments/models/micro.toml";
    o.model = moe::load_model(model);
    o.job.model = model;
    o.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
    o.job.database = database;
    o.job.steps = 3;
    o.job.data = {text};  // what is learnt is the same whatever stands in the source tree
    o.planners = parse_planners("tutel");
    o.most_chunks = 3;
    o.repeats = 2;
    o.profile_rounds = 1;
    o.most_of_others = 1;  // other tests run beside
    o.top = kTopAll;
    o.argv = {"study_test"};
    return o;
  }

  /// A moe-train that misbehaves under schedules of so many chunks. Where they take turns with
  /// others, it fails at once.
  std::string misbehaving(const std::map<int, std::string>& by_chunks) {
    std::string actions;
    for (const auto& [chunks, action] : by_chunks) {
      actions += "case $s in *'\"chunks\":" + std::to_string(chunks) +
                 "'*) [ $n = 1 ] || exit 1; " + action + ";; esac\n";
    }
    return misbehaving(actions);
  }

  /// The same for every schedule but those of profiles.
  std::string misbehaving(const std::string& action) {
    const std::string path = (directory / "moe-train").string();
    std::ofstream(path) << "#!/bin/sh\ns=$(cat) n=$(printf '%s\\n' \"$s\" | wc -l)\n"
                        << "case $s in *'\"planner\": \"profile\"'*) ;; *)\n"
                        << action << "\nesac\n"
                        << "printf '%s\\n' \"$s\" | " MOELAB_BINARY_DIR "/bin/moe-train \"$@\"\n";
    chmod(path.c_str(), 0755);
    return path;
  }

  std::vector<db::Trial> trials(const std::string& name = "s") {
    const auto connection = db::open_reader(database);
    return db::load_trials(connection, db::find_study(connection, name)->id);
  }
};

}  // namespace tuner
