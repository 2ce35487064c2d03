#include "db/console/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <new>

#include "db/console/output_error.h"

namespace db::run_program_test {
namespace {

int five(const std::exception&) { return 5; }

struct Ended {
  int code = 0;
  std::string out, errors;
};

Ended run(std::vector<std::string> arguments, const std::function<int()>& work) {
  CLI::App app("", "program");
  app.add_option("--number")->check(CLI::Number);
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended;
  ended.code = run_program(app, static_cast<int>(argv.size()), argv.data(), work, five);
  ended.out = testing::internal::GetCapturedStdout();
  ended.errors = testing::internal::GetCapturedStderr();
  return ended;
}

TEST(RunProgram, EndsAsItsWorkDoes) {
  EXPECT_EQ(run({}, [] { return 0; }).code, 0);
  EXPECT_EQ(run({}, [] { return 7; }).code, 7);
}

TEST(RunProgram, WrongUseIs2AndWorkIsNotBegun) {
  bool begun = false;
  const auto work = [&] {
    begun = true;
    return 0;
  };
  const Ended ended = run({"--nmber", "3"}, work);
  EXPECT_EQ(ended.code, 2);
  EXPECT_FALSE(ended.errors.empty());
  EXPECT_EQ(run({"--help"}, work).code, 0);
  EXPECT_FALSE(begun);
}

TEST(RunProgram, TellsTheFileThatAFailureIsOf) {
  const Ended ended = run({}, [] {
    std::filesystem::create_directory("/proc/none/such");
    return 0;
  });
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.errors, "program: /proc/none/such: No such file or directory\n");
}

TEST(RunProgram, WhatWasTypedReachesNoTerminalAsItIs) {
  const Ended wrong = run({"\x1b[31mred"}, [] { return 0; });
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, testing::HasSubstr("\\x1b[31mred"));
  const Ended thrown =
      run({}, []() -> int { throw std::runtime_error("model \x1b[31m\nline two"); });
  EXPECT_EQ(thrown.errors, "program: model \\x1b[31m\nline two\n");
}

TEST(RunProgram, ExceptionsAreSaidAndGiveTheirCode) {
  const Ended ended = run({}, []() -> int { throw std::runtime_error("no such thing"); });
  EXPECT_EQ(ended.code, 5);
  EXPECT_EQ(ended.errors, "program: no such thing\n");
}

TEST(RunProgram, MemoryThatThereIsNotIs3) {
  EXPECT_EQ(run({}, []() -> int { throw std::bad_alloc(); }).code, 3);
}

TEST(RunProgram, AReaderThatHasSeenEnoughIsNoFailure) {
  const Ended closed = run({}, []() -> int { throw write_error("stdout", EPIPE); });
  EXPECT_EQ(closed.code, 0);
  EXPECT_EQ(closed.errors, "");
  const Ended full = run({}, []() -> int { throw write_error("stdout", ENOSPC); });
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.errors, "program: stdout: cannot be written: No space left on device\n");
}

}  // namespace
}  // namespace db::run_program_test
