#include "tuner/study/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/study/child.h"

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
  EXPECT_EQ(
      status(ended(End::exited, 1, "moe-train: rank 0: the plan needs 5 bytes up to layer 1")),
      "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 1, "std::bad_alloc")), "out_of_memory");
  EXPECT_EQ(status(ended(End::exited, 1, "moe-train: rank 0: no")), "failed");
  EXPECT_EQ(status(ended(End::exited, 2, "wrong")), "failed");
  EXPECT_EQ(status(ended(End::exited, 0, "", "no json")), "failed");
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

TEST(Classify, QuotesTheProgramNotItsLauncher) {
  const auto result = classify(
      ended(End::exited, 1,
            "moe-train: rank 2: broken thing\n-----\nMPI_ABORT was invoked\nlots of words\n"),
      false);
  EXPECT_EQ(result.error, "exit code 1: moe-train: rank 2: broken thing");
}

}  // namespace
}  // namespace tuner
