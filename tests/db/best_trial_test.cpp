#include "db/best_trial.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "tests/db/opened.h"

namespace db::best_trial_test {
namespace {

class BestTrials : public testing::Test {
 protected:
  BestTrial best() const { return best_trials(connection, "sample study", "r.db").at(0); }

  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
};

TEST_F(BestTrials, IsTheFastestWithItsSpeedUp) {
  EXPECT_EQ(best().planner, "tutel");
  EXPECT_EQ(best().trial, sample.trials[1]);
  EXPECT_EQ(best().speedup, 2);
  EXPECT_EQ(best().speedup_against, "sequential");
  EXPECT_EQ(best().finished_trials, 2);
  EXPECT_EQ(best_trials(connection, "", "r.db").size(), 1U);
}

TEST_F(BestTrials, SaysHowSureThatIs) {
  const auto change = [&](const std::string& sql) { connection.database().exec(sql); };
  EXPECT_EQ(how_sure(best()), "one repeat: nothing tells it from the others");
  insert(connection, TrialRepeat{sample.trials[1], 1, sample.run, 0.11, 5});
  EXPECT_EQ(how_sure(best()), "not judged yet");
  insert(connection, TrialRepeat{sample.trials[0], 1, sample.run, 0.21, 5});
  change("UPDATE trial SET least_speedup = 1, most_speedup = 2 WHERE status = 'done'");
  EXPECT_EQ(how_sure(best()), "told from all others at 95%");
  EXPECT_EQ(best().most_speedup, 2);
  change("UPDATE trial SET least_speedup = NULL WHERE planner <> 'tutel'");
  EXPECT_EQ(how_sure(best()), "not judged yet") << "another was measured since";
  change("UPDATE trial SET tied_with = 'sequential' WHERE planner = 'tutel'");
  EXPECT_EQ(how_sure(best()), "not told from sequential");
  change("DELETE FROM trial WHERE planner <> 'tutel'");
  EXPECT_EQ(how_sure(best()), "no other trial is finished");
}

TEST_F(BestTrials, CommandsTrainWhatTheStudyTrained) {
  connection.database().exec("UPDATE study SET model_json = '{\"name\":\"tiny\"}'");
  EXPECT_EQ(best().commands.at(0), "moe-db export schedule --db r.db --trial 2 -o trial-2.json");
  EXPECT_EQ(best().commands.at(1), "moe-train --model tiny --ranks 2 --schedule trial-2.json");
  db::Run study = sample_run(sample.machine);
  study.kind = "study", study.name = "sample study";
  study.argv_json =
      R"(["moe-tune","study","sample study","--model=my model.toml","--set","moe.experts=8",)"
      R"("--planners","tutel","--ranks","4","--top","all","--db","x.db","--threads","1"])";
  insert(connection, study);
  EXPECT_EQ(best().commands.at(1),
            "moe-train '--model=my model.toml' --set moe.experts=8 --ranks 4 --threads 1 "
            "--schedule trial-2.json");
}

TEST_F(BestTrials, CommandsHaveAllFilesOfDataAndTheMemoryLimit) {
  connection.database().exec(
      "UPDATE study SET settings_json = '{\"data\":[\"a.txt:2\",\"my b.txt\"],\"steps\":20}'");
  db::Run study = sample_run(sample.machine);
  study.kind = "study", study.name = "sample study";
  study.argv_json =
      R"(["moe-tune","study","--model","tiny","--ranks","2","--seed","5","--layout","ep=2",)"
      R"("--device","cpu","--copy-gbps","8","--memory-limit","2G","--db","x.db",)"
      R"("--data","a.txt:2","my b.txt","sample study"])";
  insert(connection, study);
  EXPECT_EQ(best().commands.at(1),
            "moe-train --model tiny --ranks 2 --seed 5 --layout ep=2 --device cpu --copy-gbps 8 "
            "--memory-limit 2G --data a.txt:2 'my b.txt' --schedule trial-2.json");
}

TEST_F(BestTrials, CommandsHaveTheLayoutThatASearchChose) {
  connection.database().exec(
      R"(UPDATE study SET model_json = '{"name":"tiny"}', settings_json = )"
      R"('{"chosen":["--layout","dp=2,ep=1","--set","training.micro_batches=2"]}')");
  EXPECT_EQ(best().commands.at(1),
            "moe-train --model tiny --ranks 2 --layout dp=2,ep=1 --set training.micro_batches=2 "
            "--schedule trial-2.json");
}

TEST_F(BestTrials, AStudyWithoutOneIsNamed) {
  EXPECT_EQ(kind_of([&] { best_trials(connection, "another", ""); }), ErrorKind::not_found);
  connection.database().exec("UPDATE trial SET status = 'failed'");
  EXPECT_EQ(kind_of([&] { best_trials(connection, "sample study", ""); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { best_trials(connection, "", ""); }), ErrorKind::not_found);
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadIt) {
  EXPECT_EQ(shell_word("a-b_c.toml"), "a-b_c.toml");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
}

}  // namespace
}  // namespace db::best_trial_test
