#include "moe/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace moe::child_test {
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
  EXPECT_THAT(result.errors, HasSubstr("/nonexistent/program: cannot be executed: No such file"));
}

TEST(Child, OfWhatItSaysOnStderrTheEndIsKept) {
  const ChildResult result = shell("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo last >&2");
  EXPECT_GE(result.errors.size(), std::size_t{64} << 10);
  EXPECT_LT(result.errors.size(), std::size_t{256} << 10);
  EXPECT_TRUE(result.errors.ends_with("xlast\n"));
}

// It holds the child's end of both pipes.
TEST(Child, WhatItLeavesIsEndedAndNotWaitedFor) {
  const ChildResult result = shell("setsid sleep 60 & echo $!");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_LT(result.seconds, 30);
  EXPECT_FALSE(
      std::filesystem::exists("/proc/" + result.output.substr(0, result.output.size() - 1)));
}

}  // namespace
}  // namespace moe::child_test
