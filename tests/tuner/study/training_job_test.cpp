#include "tuner/study/training_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/records.h"
#include "moe/child.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/outcome.h"
#include "moe/stop.h"

namespace tuner::training_job_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using End = moe::ChildResult::End;

moe::ChildResult ended(End end, int code, std::string errors, std::string output = "") {
  moe::ChildResult child;
  child.end = end;
  child.code = code;
  child.errors = std::move(errors);
  child.output = std::move(output);
  return child;
}

JobResult classify_one(const moe::ChildResult& child, bool kernel_killed_for_memory) {
  return classify(child, kernel_killed_for_memory).front();
}

JobResult train_one(const TrainingJob& job) {
  const moe::Schedule schedule{"somebody", {}};
  return train(job, {&schedule, 1}, 1, 1, 20, {}).front();
}

std::string outcome_line(moe::Outcome outcome) { return moe::to_json(outcome) + "\n"; }

TEST(Classify, TellsFailuresApartByTheOutcome) {
  using Status = moe::OutcomeStatus;
  const auto status = [](Status outcome, int code) {
    return classify_one(ended(End::exited, code, "", "[rows]\n" + outcome_line({outcome})), false)
        .status;
  };
  EXPECT_EQ(status(Status::out_of_memory, 3), "out_of_memory");
  EXPECT_EQ(status(Status::time_limit, 124), "hung");
  EXPECT_EQ(status(Status::lost_rank, 137), "crashed");
  EXPECT_EQ(status(Status::lost_node, 1), db::kLostNode);
  EXPECT_EQ(status(Status::refused, 2), "failed");
  EXPECT_EQ(status(Status::not_finite, 1), "failed");
  EXPECT_EQ(status(Status::failed, 1), "failed");
  EXPECT_EQ(status(Status::done, 1), "failed") << "it said so too early";
}

TEST(Classify, RanksThatWereAskedToEndStopTheStudy) {
  const std::string line =
      outcome_line({.status = moe::OutcomeStatus::killed, .rank = 1, .signal = SIGTERM});
  EXPECT_THROW(classify_one(ended(End::exited, 143, "", line), false), moe::Stopped);
  EXPECT_EQ(classify_one(ended(End::timed_out, 143, "", line), false).status, "hung")
      << "it was this process that asked";
  EXPECT_EQ(classify_one(ended(End::exited, 1, "", line), false).status, "crashed")
      << "mpirun asks the others where it has lost a rank";
}

TEST(Classify, NoScheduleIsToBlameForADatabaseThatCannotBeWritten) {
  const std::string line = outcome_line(
      {.status = moe::OutcomeStatus::lost_output, .message = "a.db: the disk is full"});
  EXPECT_THAT([&] { classify_one(ended(End::exited, 1, "", line), false); },
              testing::ThrowsMessage<moe::LostOutput>(HasSubstr("a.db: the disk is full")));
}

TEST(Classify, TellsFailuresApartByTheExitCodeWhereThereIsNoOutcome) {
  const auto status = [](const moe::ChildResult& child, bool kernel = false) {
    return classify_one(child, kernel).status;
  };
  EXPECT_EQ(status(ended(End::timed_out, 0, "")), "hung");
  EXPECT_EQ(status(ended(End::exited, 124, "")), "hung");
  EXPECT_EQ(status(ended(End::exited, 3, "")), "out_of_memory");
  EXPECT_EQ(status(ended(End::signalled, 11, "")), "crashed");
  EXPECT_EQ(status(ended(End::exited, 139, "")), "crashed");  // as mpirun reports it
  EXPECT_EQ(status(ended(End::exited, 137, ""), true), "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 137, "")), "crashed");
  EXPECT_EQ(status(ended(End::exited, 1, "")), "failed");
  EXPECT_EQ(status(ended(End::exited, 2, "")), "failed");
  EXPECT_EQ(status(ended(End::exited, 0, "", "no json")), "failed");
}

TEST(Classify, ALaunchThatStartedNothingIsNoVerdict) {
  const std::string told = outcome_line(
      {.status = moe::OutcomeStatus::not_started, .message = "ssh: n1: Connection refused"});
  const JobResult result = classify_one(ended(End::exited, 1, "", told), false);
  EXPECT_EQ(result.status, db::kNotStarted);
  EXPECT_EQ(result.error, "ssh: n1: Connection refused");
  const JobResult silent =
      classify_one(ended(End::exited, 127, "moe-train: cannot be executed\n"), false);
  EXPECT_EQ(silent.status, db::kNotStarted);
  EXPECT_EQ(silent.error, "moe-train: cannot be executed");
  EXPECT_THROW(throw_failure("profile", silent), moe::CommunicationError);
}

TEST(Classify, WordsOnStderrCountForNothing) {
  const auto of = [](const std::string& words, const std::string& output) {
    return classify_one(ended(End::exited, 1, words, output), false).status;
  };
  const std::string no_memory = outcome_line({moe::OutcomeStatus::out_of_memory});
  for (const char* words : {"moe-train: rank 0: gate needs 5 B of arena, 1 B more than the limit",
                            "moe-train: rank 0: der Speicher reicht nicht", ""}) {
    EXPECT_EQ(of(words, no_memory), "out_of_memory") << words;
    EXPECT_EQ(of(words, ""), "failed") << words;
  }
}

TEST(Classify, ReadsTheSummary) {
  const auto result =
      classify_one(ended(End::exited, 0, "",
                         "[mpirun says]\n{\"iteration_s\": 0.5, \"run\": 7, \"loss\": 3.5, "
                         "\"measured_peak_bytes\": 4096}\n"),
                   false);
  EXPECT_EQ(result.status, "done");
  EXPECT_EQ(result.iteration_s, 0.5);
  EXPECT_EQ(result.run_id, 7);
  EXPECT_EQ(result.measured_peak_bytes, 4096);
}

TEST(Classify, ReadsASummaryOfEachScheduleThatTookTurns) {
  const std::string one = "{\"iteration_s\": 0.5, \"run\": 7, \"loss\": 3.5}\n";
  const std::string other = "{\"iteration_s\": 0.25, \"run\": 8, \"loss\": 3.5}\n";
  const auto both = classify(ended(End::exited, 0, "", one + other), false, 2);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].run_id, 7);
  EXPECT_EQ(both[1].run_id, 8);
  EXPECT_EQ(both[1].iteration_s, 0.25);
  const auto lacking = classify(ended(End::exited, 0, "", one), false, 2);
  ASSERT_EQ(lacking.size(), 2u);
  EXPECT_EQ(lacking[1].status, "failed");
  EXPECT_THAT(lacking[1].error, HasSubstr("1 summaries on stdout, expected 2"));
  EXPECT_EQ(classify(ended(End::exited, 139, ""), false, 2)[1].status, "crashed");
}

TEST(Classify, ADivergedTrainingIsNoResult) {
  EXPECT_EQ(classify_one(ended(End::exited, 0, "", "{\"iteration_s\": 0.5, \"loss\": null}"), false)
                .status,
            "failed");
}

TEST(Classify, QuotesWhatTheTrainingGaveAsItsReason) {
  const auto result =
      classify_one(ended(End::exited, 3, "mpirun says this and that\n",
                         outcome_line({.status = moe::OutcomeStatus::out_of_memory,
                                       .rank = 1,
                                       .message = "rank 1: tiny needs 9 B of arena"})),
                   false);
  EXPECT_EQ(result.error, "rank 1: tiny needs 9 B of arena");
  EXPECT_EQ(result.exit_code, 3);
}

TEST(Classify, QuotesStderrWhereThereIsNoOutcome) {
  const auto result =
      classify_one(ended(End::exited, 2, "--steps: Value x not in range\n-----\n"), false);
  EXPECT_EQ(result.status, "failed");
  EXPECT_EQ(result.error, "exit code 2: --steps: Value x not in range");
  EXPECT_EQ(result.exit_code, 2);
}

TEST(Classify, QuotesMpirunOfARankThatWasKilled) {
  const auto result = classify_one(
      ended(End::exited, 137,
            "Primary job  terminated normally, but 1 process returned\n"
            "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 "
            "(Killed).\n",
            outcome_line({.status = moe::OutcomeStatus::lost_rank, .signal = 9})),
      false);
  EXPECT_EQ(result.status, "crashed");
  EXPECT_EQ(result.error, "signal 9: rank 1 with PID 0 on node vm exited on signal 9 (Killed).");
  EXPECT_EQ(result.exit_code, 137);
}

/// A program in a folder of its own that stands for moe-train.
class Script {
 public:
  explicit Script(const std::string& text)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("training_job_test" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  ~Script() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "moe-train"; }

 private:
  std::filesystem::path folder_;
};

TEST(TrainingJobTest, AMessageInOtherWordsChangesNoStatus) {
  std::vector<std::string> statuses;
  for (const std::string words : {"rank 0: 5 B of arena, 1 B more than the limit of 4 B",
                                  "rank 0: zu wenig Speicher", "Segmentation fault"}) {
    const Script script(fmt::format(
        "echo 'moe-train: {0}' >&2\necho '{1}'\nexit 3\n", words,
        moe::to_json({.status = moe::OutcomeStatus::out_of_memory, .rank = 0, .message = words})));
    TrainingJob job;
    job.program = script.path();
    const JobResult result = train_one(job);
    EXPECT_EQ(result.error, words);
    statuses.push_back(result.status);
  }
  EXPECT_THAT(statuses, ::testing::Each("out_of_memory"));
}

TEST(TrainingJobTest, HandsTheSchedulesOverOnStdinOneALine) {
  const Script script("cat >&2; exit 1\n");
  TrainingJob job;
  job.program = script.path();
  const std::vector<moe::Schedule> schedules{{"somebody", {}}, {"else \"quoted\"", {}}};
  EXPECT_EQ(train(job, schedules, 1, 1, 20, {}).front().error,
            "exit code 1: {\"planner\": \"somebody\", \"decisions\": []}\n"
            "{\"planner\": \"else \\\"quoted\\\"\", \"decisions\": []}");
}

TEST(TrainingJobTest, HandsTheLauncherOn) {
  const Script script("printf '%s\\n' \"$@\" >&2; exit 1\n");
  TrainingJob job;
  job.program = script.path();
  EXPECT_THAT(train_one(job).error, Not(HasSubstr("--launcher")));
  job.launcher.command = "srun --mpi=pmix -n {ranks}";
  job.launcher.hostfile = "hosts";
  const std::string error = train_one(job).error;
  EXPECT_THAT(error, HasSubstr("--launcher\nsrun --mpi=pmix -n {ranks}\n"));
  EXPECT_THAT(error, HasSubstr("--hostfile\nhosts"));
}

}  // namespace
}  // namespace tuner::training_job_test
