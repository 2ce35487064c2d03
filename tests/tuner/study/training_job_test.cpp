#include "tuner/study/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "moe/backend/backend.h"
#include "moe/errors.h"
#include "tuner/study/child.h"
#include "tuner/study/processor_time.h"

namespace tuner {
namespace {

using ::testing::HasSubstr;
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

TEST(Child, CountsWhatOrphansUsedOfTheProcessors) {
  const double before = processor_time().own_s;
  // In a session of its own, as mpirun starts what runs on other hosts, and longer than its parent.
  run_child({"/bin/bash", "-c",
             "setsid bash -c 'sleep 0.1; for ((i = 0; i < 30000; ++i)); do :; done' &"},
            60, {});
  EXPECT_GT(processor_time().own_s - before, 0.02);
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

TEST(Classify, TellsFailuresApart) {
  const auto status = [](const ChildResult& child, bool kernel = false) {
    return classify(child, kernel).status;
  };
  EXPECT_EQ(status(ended(End::timed_out, 0, "")), "hung");
  EXPECT_EQ(status(ended(End::exited, 124, "moe-train: rank 1: waited 60 s")), "hung");
  EXPECT_EQ(status(ended(End::signalled, 11, "")), "crashed");
  EXPECT_EQ(status(ended(End::exited, 139, "")), "crashed");  // as mpirun reports it
  EXPECT_EQ(status(ended(End::exited, 137, ""), true), "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 137, "")), "crashed");
  EXPECT_EQ(status(ended(End::exited, 1,
                         "moe-train: rank 0: gate needs 5 B of arena, 1 B more "
                         "than the limit of 4 B")),
            "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 1, "std::bad_alloc")), "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 1, "moe-train: rank 0: no")), "failed");
  EXPECT_EQ(status(ended(End::exited, 2, "wrong")), "failed");
  EXPECT_EQ(status(ended(End::exited, 0, "", "no json")), "failed");
}

TEST(Classify, KnowsABackendsWordsForTooLittleMemory) {
  std::string message;
  try {
    moe::make_cpu_backend(1)->arena(std::int64_t{1} << 60);
  } catch (const moe::OutOfMemory& error) {
    message = error.what();
  }
  EXPECT_EQ(classify(ended(End::exited, 1, "moe-train: rank 0: " + message), false).status,
            "out_of_memory");
}

TEST(Classify, ReadsTheSummary) {
  const auto result =
      classify(ended(End::exited, 0, "",
                     "[mpirun says]\n{\"iteration_s\": 0.5, \"run\": 7, \"loss\": 3.5, "
                     "\"measured_peak_bytes\": 4096}\n"),
               false);
  EXPECT_EQ(result.status, "done");
  EXPECT_EQ(result.iteration_s, 0.5);
  EXPECT_EQ(result.run_id, 7);
  EXPECT_EQ(result.measured_peak_bytes, 4096);
}

TEST(Classify, ADivergedTrainingIsNoResult) {
  EXPECT_EQ(
      classify(ended(End::exited, 0, "", "{\"iteration_s\": 0.5, \"loss\": null}"), false).status,
      "failed");
}

// The stderr of real runs, shortened where lines repeat.
constexpr const char* kBanner =
    "moe-train: micro on 2 ranks (CPU, 1 thread), schedule sequential, corpus.txt, 10290 tokens\n";
constexpr const char* kDashes =
    "--------------------------------------------------------------------------\n";

TEST(Classify, QuotesTheProgramNotItsLauncher) {
  const auto result = classify(
      ended(End::exited, 1,
            std::string(kBanner) +
                "moe-train: rank 1: tiny needs 9 B of arena, 1 B more than the limit of 8 B\n" +
                kDashes + "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n" +
                "with errorcode 1.\n" + kDashes +
                "moe-train: rank 0: sum of the losses cannot finish: rank 1 gave up: rank 1 ended "
                "with an exception\n"),
      false);
  EXPECT_EQ(result.status, "out_of_memory");
  EXPECT_EQ(result.error,
            "moe-train: rank 1: tiny needs 9 B of arena, 1 B more than the limit of 8 B");
  EXPECT_EQ(result.exit_code, 1);
}

TEST(Classify, QuotesWhatIsSaidBeforeThereAreRanks) {
  const auto result =
      classify(ended(End::exited, 2, "moe-train: x.toml:3: experts = 6: expected 1 to 4\n"), false);
  EXPECT_EQ(result.status, "failed");
  EXPECT_EQ(result.error, "exit code 2: moe-train: x.toml:3: experts = 6: expected 1 to 4");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(classify(ended(End::exited, 2, "--steps: Value x not in range\n"), false).error,
            "exit code 2: --steps: Value x not in range");
}

TEST(Classify, NamesTheRankThatWasKilled) {
  const auto result = classify(
      ended(End::exited, 137,
            std::string(kBanner) +
                "moe-train: rank 0: sum of the losses cannot finish: this process was asked to "
                "end\n" +
                kDashes +
                "Primary job  terminated normally, but 1 process returned\n"
                "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                kDashes + kDashes +
                "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 "
                "(Killed).\n" +
                kDashes),
      false);
  EXPECT_EQ(result.status, "crashed");
  EXPECT_EQ(result.error, "signal 9: rank 1 with PID 0 on node vm exited on signal 9 (Killed).");
  EXPECT_EQ(result.exit_code, 137);
}

TEST(Classify, QuotesWhoWaitedForWhomAtATimeLimit) {
  const auto result = classify(
      ended(End::exited, 124,
            std::string(kBanner) +
                "moe-train: rank 0: rank 0 waited 60 s for rank 1 in all_to_all dispatch\n" +
                kDashes),
      false);
  EXPECT_EQ(result.status, "hung");
  EXPECT_EQ(result.error,
            "moe-train: rank 0: rank 0 waited 60 s for rank 1 in all_to_all dispatch");
}

TEST(Classify, NeverQuotesBannerOrDashes) {
  const auto result = classify(ended(End::exited, 1, std::string(kBanner) + kDashes), false);
  EXPECT_EQ(result.error, "exit code 1: ");
}

TEST(TrainingJobTest, HandsTheScheduleOverWithoutAFileThatCouldStay) {
  const auto directory = std::filesystem::path(::testing::TempDir()) /
                         ("training_job_test" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  const std::string program = directory / "moe-train";
  std::ofstream(program) << "#!/bin/sh\nfor a; do case $b in --schedule) s=$a;; esac; b=$a; done\n"
                            "/bin/sh -c \"ls $s; cat $s; exit 1\" >&2; exit 1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  TrainingJob job;
  job.program = program;
  const auto result = train(job, {"somebody", {}}, 1, 1, 20, {});
  std::filesystem::remove_all(directory);
  EXPECT_THAT(result.error, HasSubstr("\"planner\": \"somebody\""));
  EXPECT_THAT(result.error, HasSubstr("/proc/" + std::to_string(getpid()) + "/fd/"));
}

}  // namespace
}  // namespace tuner
