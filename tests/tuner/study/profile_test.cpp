#include "tuner/study/profile.h"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/train/train_store.h"
#include "tests/tuner/study/simulated_runs.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/scenario.h"
#include "tuner/study/measured_runs.h"
#include "tuner/study/profile_schedules.h"
#include "tuner/study/study.h"
#include "tuner/study/training_job.h"

namespace tuner::profile_test {
namespace {

using test::SimulatedRuns;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Runs of the smallest model by the moe-train that was built beside the tests.
struct ProfileTest : ::testing::Test {
  std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / ("profile_test" + std::to_string(getpid()));
  std::string database = (directory / "results.db").string();
  std::string file = MOELAB_SOURCE_DIR "/experiments/models/micro.toml";
  moe::Model model = moe::load_model(file);
  moe::Program program = moe::build_iteration(model, moe::make_groups(1, 1), 0);

  void SetUp() override { std::filesystem::create_directories(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }

  TrainingJob job() const {
    TrainingJob job;
    job.program = MOELAB_BINARY_DIR "/bin/moe-train";
    job.model = file;
    job.database = database;
    job.threads = 1;
    return job;
  }
  std::int64_t run(const moe::Schedule& schedule, int steps, int timelines) const {
    const JobResult result = train(job(), {&schedule, 1}, steps, timelines, 60, {}).front();
    EXPECT_EQ(result.status, "done") << result.error;
    return result.run_id;
  }
};

TEST(SharedProcessors, AreTheCoresOfASetOverTheThreadsOfARank) {
  const auto rank = [](int number, std::optional<int> set, int cores, std::optional<int> threads) {
    db::RunRank row;
    row.rank = number;
    row.core_set = set;
    row.cores = cores;
    row.threads = threads;
    return row;
  };
  // Nodes of a box on two cores.
  EXPECT_EQ(
      shared_processors({rank(0, 0, 1, 1), rank(1, 1, 1, 1), rank(2, 0, 1, 1), rank(3, 1, 1, 1)}),
      (std::vector<SharedProcessors>{{1, {0, 2}}, {1, {1, 3}}}));
  EXPECT_EQ(shared_processors({rank(0, 0, 6, 4), rank(1, 0, 6, 4)}),
            (std::vector<SharedProcessors>{{1.5, {0, 1}}}));
  // More threads than cores: one rank is as slow as its costs say.
  EXPECT_EQ(shared_processors({rank(0, 0, 1, 4), rank(1, 0, 1, 4)}),
            (std::vector<SharedProcessors>{{1, {0, 1}}}));
  EXPECT_TRUE(shared_processors({rank(0, 0, 1, 1), rank(1, 1, 1, 1)}).empty()) << "nobody shares";
  EXPECT_TRUE(shared_processors({rank(0, 0, 1, {}), rank(1, 0, 1, {})}).empty()) << "on GPUs";
  EXPECT_TRUE(shared_processors({rank(0, {}, 1, 1), rank(1, {}, 1, 1)}).empty()) << "not known";
}

TEST_F(ProfileTest, MakesCostsRoutingsAndErrorsOfStoredRuns) {
  std::vector<std::int64_t> runs;
  for (const ProfileSchedule& schedule : profile_schedules(program)) {
    runs.push_back(run(schedule.schedule, 20, 5));
  }
  const auto connection = db::open_reader(database);
  const Profile profile = profile_from_runs(connection, model, "", runs);
  EXPECT_EQ(profile.groups.ranks, 1);
  EXPECT_EQ(profile.machine.cluster.nodes, 1);
  // The stored timelines are of late iterations, so none is left out as warm-up.
  EXPECT_THAT(profile.errors, AllOf(SizeIs(4), Each(SizeIs(5))));
  EXPECT_THAT(profile.errors, Each(Each(Gt(-1.0))));
  EXPECT_THAT(profile.routings, SizeIs(16));  // of 18
  EXPECT_FALSE(profile.machine.costs.fits.empty());
  // Calibration keeps the measured sum: the costs stand for the iterations that they come from.
  const db::TimelineInfo timeline = db::load_timelines(connection, {runs[0], 0, "measured"}).at(0);
  const moe::Timeline ops = load_op_timeline(connection, timeline, 1, program.ops.size());
  ASSERT_THAT(ops.ranks, SizeIs(1));
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    EXPECT_EQ(ops.ranks[0][i].op, static_cast<int>(i));
  }
  EXPECT_THROW(load_op_timeline(connection, timeline, 1, 3), db::Error);  // of another model
}

TEST(Profile, CalibratesWithWhatEveryMicroBatchRouted) {
  const SimulatedRuns runs(true);
  EXPECT_LT(runs.worst_error(), 0.01);
  const Profile profile = profile_from_runs(runs.connection, runs.model, "", runs.ids);
  EXPECT_NEAR(profile.machine.costs.fits.at("gemm").beta_s_per_unit, 1e-10, 1e-12);
  const auto& layers = profile.routings.front().layers;
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_GT(layers[0].tokens[0].front(), layers[0].tokens[0].back());
  EXPECT_LT(layers[2].tokens[0].front(), layers[2].tokens[0].back());
  // Of what only whole iterations tell, each micro-batch is taken to be like the other.
  EXPECT_GT(SimulatedRuns(false).worst_error(), 0.05);
}

/// Numbers that no program stores. Files from before a column was checked can hold them.
TEST(Profile, OfRowsWithAnyNumberIsMadeOrRefusedAsTheDatabasesError) {
  SimulatedRuns runs(true);
  SQLite::Database& database = runs.connection.database();
  database.exec("PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0");
  const auto refused = [&](const std::string& sql) -> std::string {
    SCOPED_TRACE(sql);
    database.exec("SAVEPOINT before");
    database.tryExec(sql);
    std::string text;
    try {
      profile_from_runs(runs.connection, runs.model, "", runs.ids);
    } catch (const db::Error& error) {
      text = error.what();
      EXPECT_THAT(text, AnyOf(HasSubstr("run "), HasSubstr(":memory:: ")));
    } catch (const moe::InputError& error) {
      text = error.what();
    } catch (const moe::Refusal& refusal) {
      text = refusal.what();
    }
    database.exec("ROLLBACK TO before; RELEASE before");
    return text;
  };
  EXPECT_THAT(refused("UPDATE span SET start_s = start_s - 5"), HasSubstr("span.start_s = -5, "));
  EXPECT_EQ(refused("UPDATE span SET start_s = start_s + 5"), "");
  refused("UPDATE span SET start_s = 1e9, duration_s = 1e-9 * op");  // no op has a length there
  EXPECT_THAT(refused("UPDATE OR IGNORE load SET rank = 2 WHERE rank = 1"),
              HasSubstr("load.rank = 2, "));
  EXPECT_THAT(refused("UPDATE OR IGNORE load SET expert = -1"), HasSubstr("load.expert = -1, "));
  EXPECT_THAT(refused("UPDATE load SET expert = expert + 100000"),
              HasSubstr("rank 0 has 8 experts, 0 of them from 0 on without a gap: expected 8"));
  EXPECT_THAT(refused("DELETE FROM load WHERE rank = 1 AND expert = 7"),
              HasSubstr("rank 1 has 7 experts, 7 of them from 0 on without a gap: expected 8"));
  EXPECT_THAT(refused("DELETE FROM load WHERE rank = 0 AND micro_batch = 1"),
              HasSubstr("layer 0, micro-batch 1: of 1 ranks, expected 2"));
  EXPECT_THAT(refused("DELETE FROM load WHERE layer = 1"),
              HasSubstr("loads of layer 1: of 0 ranks, expected 2"));
  EXPECT_THAT(refused("UPDATE run SET ranks = 2147483647"), HasSubstr("run.ranks = 2147483647, "));
  EXPECT_THAT(refused("DELETE FROM run_rank WHERE rank = 1"),
              HasSubstr("has 2 ranks, and run_rank tells of 1"));
  const std::vector<std::pair<std::string, std::vector<std::string>>> columns{
      {"run", {"ranks", "schedule_id", "machine_id"}},
      {"run_rank", {"rank", "node", "core_set", "cores", "threads"}},
      {"load", {"iteration", "layer", "rank", "expert", "micro_batch", "tokens"}},
      {"timeline", {"iteration", "duration_s"}},
      {"span", {"rank", "op", "start_s", "duration_s"}}};
  for (const auto& [table, names] : columns) {
    for (const std::string& column : names) {
      for (const char* value :
           {"-1", "0", "2147483647", "9223372036854775807", "1e300", "-1e300"}) {
        refused(fmt::format("UPDATE OR IGNORE {} SET {} = {}", table, column, value));
      }
    }
  }
}

TEST(Profile, KnowsTheCardsOfItsNetwork) {
  SimulatedRuns runs(true);
  runs.connection.database().exec("UPDATE run_rank SET node = 0");
  const auto profile_on = [&](const std::string& network) {
    runs.connection.database().exec("UPDATE run SET network = '" + network + "'");
    return profile_from_runs(runs.connection, runs.model, "", runs.ids);
  };
  const Profile two = profile_on("box 2 x 1 Gbit/s"), one = profile_on("eth0 25 Gbit/s");
  EXPECT_EQ(two.machine.cluster.cards_per_node, 2);
  EXPECT_THAT(two.groups.card_of, ElementsAre(0, 1));
  EXPECT_EQ(one.machine.cluster.cards_per_node, 1);
  EXPECT_TRUE(one.groups.card_of.empty());
}

TEST(Profile, KnowsHowUnequallyFastRanksCompute) {
  const SimulatedRuns runs(true, {1.2, 0.8});
  const Profile profile = profile_from_runs(runs.connection, runs.model, "", runs.ids);
  const auto& slowdowns = profile.machine.costs.slowdowns;
  ASSERT_FALSE(slowdowns.empty());
  for (const Slowdowns& of_ranks : slowdowns) {
    EXPECT_NEAR(of_ranks[0] / of_ranks[1], 1.5, 0.05);
  }
  CostModel equal = profile.machine.costs;
  equal.slowdowns.clear();
  const auto predicted_s = [&](const CostModel& costs) {
    const Situation situation{runs.program, runs.groups, profile.routings.front(), costs,
                              profile.machine.cluster};
    return simulated_s(situation, {});
  };
  EXPECT_GT(predicted_s(profile.machine.costs), 1.02 * predicted_s(equal)) << "ranks wait";
}

/// Runs of all profile schedules in turns, at one moment each, at which all ranks computed so many
/// times as slowly.
std::vector<std::int64_t> rounds_at(SimulatedRuns& runs, const std::vector<double>& paces) {
  runs.ids.clear();
  for (const double pace : paces) {
    runs.slowdowns.assign(2, pace);
    runs.began_at = 1000 * (static_cast<double>(runs.ids.size()) + 1);
    for (const ProfileSchedule& schedule : profile_schedules(runs.program)) {
      runs.store(schedule.schedule, true);
    }
  }
  runs.began_at.reset();
  return runs.ids;
}

TEST(Profile, IsAsFastAsTheMedianMoment) {
  SimulatedRuns runs(true);
  const auto predicted_s = [&](const std::vector<std::int64_t>& ids) {
    const Profile profile = profile_from_runs(runs.connection, runs.model, "", ids);
    const Situation situation{runs.program, runs.groups, profile.routings.front(),
                              profile.machine.costs, profile.machine.cluster};
    return simulated_s(situation, {});
  };
  const double even_s = predicted_s(runs.ids);
  EXPECT_NEAR(predicted_s(rounds_at(runs, {1, 1, 1.3})) / even_s, 1, 0.01);
  EXPECT_NEAR(predicted_s(rounds_at(runs, {1, 0.7, 0.7})) / even_s,
              predicted_s(rounds_at(runs, {0.7})) / even_s, 0.01);
}

TEST(Profile, CountsTrialsAsMuchAndIsJudgedByThem) {
  SimulatedRuns runs(true);
  const std::vector<std::int64_t> profiled = runs.ids, later = rounds_at(runs, {0.8, 0.8});
  const double measured_s =
      db::load_timelines(runs.connection, {later[0], 0, "measured"}).at(0).duration_s;
  const auto predicted_s = [&](const Profile& profile) {
    const Situation situation{runs.program, runs.groups, profile.routings.front(),
                              profile.machine.costs, profile.machine.cluster};
    return simulated_s(situation, {});
  };
  const Profile before = profile_from_runs(runs.connection, runs.model, "", profiled);
  EXPECT_GT(predicted_s(before), 1.05 * measured_s);
  const Profile now = profile_from_runs(runs.connection, runs.model, "", profiled, later);
  EXPECT_NEAR(predicted_s(now) / measured_s, 1, 0.03) << "most iterations were so fast";
  EXPECT_LT(now.machine.costs.deviation.value(), 0.05) << "of the later runs";
  EXPECT_THAT(now.errors, SizeIs(profiled.size() + later.size()));
}

TEST(Profile, DeviatesByHowFarMomentsLieApart) {
  SimulatedRuns runs(true);
  const auto deviation = [&](const std::vector<double>& paces) {
    const std::vector<std::int64_t> ids = rounds_at(runs, paces);
    return profile_from_runs(runs.connection, runs.model, "", ids).machine.costs.deviation.value();
  };
  const double even = deviation({1, 1, 1});
  EXPECT_LT(even, 0.02);
  const double apart = deviation({0.9, 1, 1.1});
  EXPECT_GT(apart, even + 0.01);
  EXPECT_LT(apart, 0.2);
}

TEST_F(ProfileTest, ShowsWhatCopiesCost) {
  const auto schedules = copy_profile_schedules(program);
  ASSERT_THAT(schedules, SizeIs(2));
  TrainingJob slow = job();
  slow.copy_gbps = 0.003;  // so slow that late threads do not matter
  std::vector<std::int64_t> runs;
  for (const ProfileSchedule& schedule : schedules) {
    const JobResult result = train(slow, {&schedule.schedule, 1}, 6, 4, 60, {}).front();
    ASSERT_EQ(result.status, "done") << result.error;
    runs.push_back(result.run_id);
  }
  const auto connection = db::open_reader(database);
  EXPECT_EQ(decisions_of_run(connection, runs[1]), moe::decisions_json(schedules[1].schedule));
  const CostModel costs = profile_from_runs(connection, model, "", runs).machine.costs;
  for (const char* kind : {"copy", "offload_rows", "fetch_rows"}) {
    const LinearFit& fit = costs.fits.at(kind);
    const double link_s = fit.max_units / 2 * 8 / (slow.copy_gbps * 1e9);  // read and written
    EXPECT_GT(seconds_of(fit, 1, fit.max_units), 0.9 * link_s) << kind;
  }
}

TEST_F(ProfileTest, LeavesOutWarmUpIterationsWhereThereAreOthers) {
  const auto schedule = profile_schedules(program)[0].schedule;
  const std::vector<std::int64_t> runs{run(schedule, 4, 4), run(schedule, 2, 2)};
  const Profile profile = profile_from_runs(db::open_reader(database), model, "", runs);
  EXPECT_THAT(profile.errors[0], SizeIs(2));  // iterations 3 and 4
  EXPECT_THAT(profile.errors[1], SizeIs(2));  // there is nothing else
}

TEST_F(ProfileTest, RefusesRunsThatAreNoProfile) {
  const auto schedule = profile_schedules(program)[0].schedule;
  const std::int64_t good = run(schedule, 3, 1), without_timeline = run(schedule, 3, 0);
  const auto connection = db::open_writer(database);
  EXPECT_THROW(profile_from_runs(connection, model, "", {}), moe::InputError);
  EXPECT_THROW(profile_from_runs(connection, model, "", {good + 1000}), db::Error);
  EXPECT_THROW(profile_from_runs(connection, model, "", {good, without_timeline}), db::Error);
}

TEST_F(ProfileTest, ScenarioMeasuredIsTheProfileOfAStudyOfTheModel) {
  ScenarioOptions scenario{file, "measured", database, std::nullopt, "", "uniform"};
  scenario.database = "";
  EXPECT_THROW(load_scenario(scenario), moe::InputError);  // needs a database
  scenario.database = database;
  run(profile_schedules(program)[0].schedule, 3, 1);
  EXPECT_THROW(load_scenario(scenario), moe::InputError);  // no fits, no study

  StudyOptions options;
  options.name = "s";
  options.model = model;
  options.job = job();
  options.job.steps = 3;
  options.planners = parse_planners("sequential");
  options.repeats = 1;
  options.profile_rounds = 1;
  options.most_of_others = 1;  // other tests run beside
  options.argv = {"profile_test"};
  run_study(options);
  const Scenario loaded = load_scenario(scenario);
  EXPECT_EQ(loaded.groups.ranks, 1);
  EXPECT_EQ(loaded.cluster.name, "measured");
  EXPECT_FALSE(loaded.costs.fits.empty());
  // Another number of ranks was not studied.
  scenario.ranks = 2;
  EXPECT_THROW(load_scenario(scenario), moe::Refusal);
}

}  // namespace
}  // namespace tuner::profile_test
