#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "db/store.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::fit_command_test {
namespace {

using test::moe_tune;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FitCommand, ChoosesRunsAndSaysWhatItsFitsAreOf) {
  const db::TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  {
    auto connection = db::open_writer(path);
    const std::int64_t machine = db::find_or_insert(connection, db::sample_machine());
    for (const double beta : {8.09e-9, 27e-9}) {  // 1 and 0.3 Gbit/s
      db::Run run = db::sample_run(machine);
      run.network = beta < 1e-8 ? "box 1 Gbit/s" : "box 0.3 Gbit/s";
      run.started_at = beta < 1e-8 ? 86400 : 10 * 86400;
      std::vector<db::RunRank> ranks(2);
      std::vector<db::Measurement> rows;
      const std::int64_t id = db::insert(connection, run);
      for (int rank = 0; rank < 2; ++rank) {
        ranks[static_cast<std::size_t>(rank)].run_id = id;
        ranks[static_cast<std::size_t>(rank)].rank = rank;
        ranks[static_cast<std::size_t>(rank)].node = rank;
      }
      db::insert(connection, ranks);
      for (double bytes = 1024; bytes <= (beta < 1e-8 ? 1 << 24 : 1 << 14); bytes *= 4) {
        db::Measurement& row = rows.emplace_back();
        row.run_id = id;
        row.op = "all_to_all";
        row.device = "cpu";
        row.ranks = 2;
        row.bytes = static_cast<std::int64_t>(bytes);
        row.time_s = 29.6e-6 + beta * bytes / 2;
      }
      db::insert(connection, rows);
    }
  }
  const auto fits = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"fit", "--db", path, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = moe_tune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.output);
  };
  const auto both = fits({});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].at("network"), "box 1 Gbit/s");
  EXPECT_EQ(both[0].at("machine"), "node0");
  EXPECT_EQ(both[0].at("nodes"), 2);
  EXPECT_EQ(both[0].at("verdict"), "good");
  EXPECT_NEAR(both[0].at("alpha_s").get<double>(), 29.6e-6, 1e-9);
  EXPECT_EQ(both[1].at("network"), "box 0.3 Gbit/s");
  EXPECT_EQ(both[1].at("samples"), 3);
  EXPECT_EQ(both[1].at("verdict"), "too few samples");
  EXPECT_EQ(fits({"--run", "1"}).at(0).at("network"), "box 1 Gbit/s");
  EXPECT_EQ(fits({"--run", "1", "--run", "2"}).size(), 2U);
  EXPECT_EQ(fits({"--since", "1970-01-05"}).size(), 1U);
  EXPECT_EQ(fits({"--since", "1970-01-05"}).at(0).at("network"), "box 0.3 Gbit/s");

  const auto none = moe_tune({"fit", "--db", path, "--since", "1h"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("--run and --since leave no measurement that makes a fit"));
  EXPECT_EQ(moe_tune({"fit", "--db", path, "--run", "99"}).code, 2);
  EXPECT_THAT(moe_tune({"fit", "--db", path, "--since", "yesterday"}).errors,
              HasSubstr("an age as 30m"));
}

TEST(FitCommand, PrintsPredictedBesideMeasuredSecondsBySize) {
  const db::TemporaryDirectory directory;
  const std::string path = directory.file("nccl.db");
  {
    auto connection = db::open_writer(path);
    const std::int64_t machine = db::find_or_insert(connection, db::sample_machine());
    const std::int64_t run = db::insert(connection, db::sample_run(machine));
    std::vector<db::Measurement> rows;
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 29; bytes *= 2) {
      db::Measurement& row = rows.emplace_back();
      row.run_id = run;
      row.op = "all_reduce";
      row.device = "cuda";
      row.ranks = 8;
      row.bytes = bytes;
      row.time_s = 16e-6 + 3.6e-12 * static_cast<double>(bytes) +
                   2e-9 * std::sqrt(static_cast<double>(bytes));
    }
    db::insert(connection, rows);
  }
  const auto result = moe_tune({"fit", "--db", path, "--at", "256M:1G:x2", "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto rows = nlohmann::json::parse(result.output);
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows[i].at("op"), "all_reduce");
    EXPECT_EQ(rows[i].at("ranks"), 8);
    EXPECT_EQ(rows[i].at("bytes"), std::int64_t{256} << (20 + i)) << "as the benchmark counts them";
    const double measured_s = rows[i].at("measured_s").get<double>();
    EXPECT_NEAR(rows[i].at("predicted_s").get<double>() / measured_s, 1, 0.05);
  }
  EXPECT_TRUE(rows[2].at("measured_s").is_null()) << "1 GiB was not measured";
  EXPECT_EQ(moe_tune({"fit", "--db", path, "--at", "1M:2"}).code, 2);
}

TEST(FitCommand, RefusesToJudgeWhatItDoesNotKnow) {
  const std::string path = std::string(::testing::TempDir()) + "no_study.db";
  std::filesystem::remove(path);
  { auto connection = db::open_writer(path); }
  const auto part = moe_tune({"fit", "--judge", path, "--without", "moods"});
  EXPECT_EQ(part.code, 2);
  EXPECT_THAT(part.errors, HasSubstr("--without moods: expected one of shapes "));
  const auto none = moe_tune({"fit", "--judge", path});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("no study with two measured trials"));
  EXPECT_EQ(moe_tune({"fit", "--without", "pace"}).code, 2);
  EXPECT_EQ(moe_tune({"fit"}).code, 2);
}

}  // namespace
}  // namespace tuner::fit_command_test
