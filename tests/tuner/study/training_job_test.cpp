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
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/outcome.h"
#include "moe/stop.h"
#include "tuner/study/child.h"

namespace tuner::training_job_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using End = ChildResult::End;

ChildResult shell(const std::string& script, double limit_s = 20) {
  return run_child({"/bin/sh", "-c", script}, limit_s, {});
}

TEST(Child, BringsBackWhatItSaidAndItsExitCode) {
  const ChildResult result = shell("echo data; echo words >&2; exit 3");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.output, "data\n");
  EXPECT_EQ(result.errors, "words\n");
}

TEST(Child, MayTalkMoreThanAPipeHolds) {
  EXPECT_EQ(shell("head -c 1000000 /dev/zero | tr '\\0' x").output.size(), 1000000u);
}

TEST(Child, IsEndedAtItsLimitWithAllItStarted) {
  const ChildResult result = shell("sleep 60 & echo $!; wait", 0.5);
  EXPECT_EQ(result.end, End::timed_out);
  EXPECT_LT(result.seconds, 10);
  // Gone, or a zombie that nobody has asked after yet.
  const std::string pid = result.output.substr(0, result.output.find('\n'));
  EXPECT_EQ(shell("for i in 1 2 3 4 5 6 7 8 9 10; do case $(cut -d' ' -f3 /proc/" + pid +
                  "/stat 2>/dev/null) in ''|Z|X) exit 0;; esac; sleep 0.1; done; exit 1")
                .code,
            0);
}

TEST(Child, CallsAliveWhileItWaits) {
  int calls = 0;
  run_child({"/bin/sleep", "2.5"}, 20, [&] { ++calls; });
  EXPECT_GE(calls, 1);
}

TEST(Child, ReadsAsMuchAsThereIs) {
  const std::string input(1'000'000, 'x');  // more than a pipe holds
  const ChildResult result = run_child({"/usr/bin/wc", "-c"}, 20, {}, input);
  EXPECT_EQ(result.output, "1000000\n");
  EXPECT_EQ(run_child({"/usr/bin/wc", "-c"}, 20, {}).output, "0\n");
}

TEST(Child, ThatEndsBeforeItReadsIsNoErrorOfOurs) {
  const ChildResult result =
      run_child({"/bin/sh", "-c", "exit 3"}, 20, {}, std::string(1'000'000, 'x'));
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.code, 3);
}

TEST(Child, DoesNotOutliveAnErrorOfItsWatch) {
  std::string pid;
  const auto begun =
      std::filesystem::path(::testing::TempDir()) / ("child_of_" + std::to_string(getpid()));
  const auto lose = [] { throw std::runtime_error("the study is another's"); };
  EXPECT_THROW(
      run_child({"/bin/sh", "-c", "echo $$ > " + begun.string() + "; exec sleep 60"}, 20, lose),
      std::runtime_error);
  std::ifstream(begun) >> pid;
  ASSERT_NE(pid, "");
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid));
  std::filesystem::remove(begun);
}

TEST(Child, ThatDoesNotExistSaysSo) {
  const ChildResult result = run_child({"/nonexistent/program"}, 5, {});
  EXPECT_EQ(result.code, 127);
  EXPECT_THAT(result.errors, HasSubstr("/nonexistent/program: cannot be executed"));
}

ChildResult ended(End end, int code, std::string errors, std::string output = "") {
  ChildResult child;
  child.end = end;
  child.code = code;
  child.errors = std::move(errors);
  child.output = std::move(output);
  return child;
}

JobResult classify_one(const ChildResult& child, bool kernel_killed_for_memory) {
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
  const auto status = [](const ChildResult& child, bool kernel = false) {
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
