#pragma once

#include <gtest/gtest.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace moelab::test {

/// The text that `text` returns in another process, which runs the calling test again. Addresses
/// differ in that process: they are not randomised, and blocks of the heap are freed in disorder
/// before `text` is called. So a result that depends on addresses, or on memory that was not set,
/// differs.
inline std::string in_another_process(const std::function<std::string()>& text) {
  constexpr const char* kAnswer = "MOELAB_ANSWER_OF_ANOTHER_PROCESS";
  if (const char* answer = std::getenv(kAnswer)) {
    std::mt19937 random(7);
    std::vector<std::unique_ptr<char[]>> blocks(20000);
    for (auto& block : blocks) block = std::make_unique<char[]>(16 + random() % 2000);
    for (int i = 0; i < 15000; ++i) blocks[random() % blocks.size()].reset();
    std::ofstream(answer) << text();
    std::_Exit(0);
  }
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path answer =
      std::filesystem::temp_directory_path() / ("moelab_answer_" + std::to_string(getpid()));
  const std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  const pid_t child = fork();
  if (child == 0) {
    personality(ADDR_NO_RANDOMIZE);
    setenv(kAnswer, answer.c_str(), 1);
    setenv("MALLOC_PERTURB_", "85", 1);
    // Where this process runs a part of the tests, that one runs this test alone.
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "another_process", filter.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the other process failed";
  std::ostringstream read;
  read << std::ifstream(answer).rdbuf();
  std::filesystem::remove(answer);
  EXPECT_FALSE(read.str().empty()) << "the other process gave no answer";
  return read.str();
}

}  // namespace moelab::test
