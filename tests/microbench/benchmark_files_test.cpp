#include "microbench/benchmark_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "moe/errors.h"

namespace microbench::benchmark_files_test {
namespace {

Benchmark reading(const std::string& path) {
  Benchmark benchmark{"reads", {}, {}, {}};
  benchmark.file = {"--routing", [path] { return path; }};
  return benchmark;
}

TEST(BenchmarkFiles, AreReadOnceForAllRanks) {
  const std::string path = testing::TempDir() + "/benchmark_files_test.txt";
  std::ofstream(path) << "1 2\n";
  const Benchmark benchmark = reading(path);
  const std::string read = read_benchmark_files("reads", {benchmark, {"other", {}, {}, {}}});
  EXPECT_EQ(text_of_file(read, benchmark), "1 2\n");
  EXPECT_EQ(text_of_file(read_benchmark_files("other", {benchmark}), benchmark), "");

  const auto alike = facts_of_file(benchmark, "1 2\n"), differs = facts_of_file(benchmark, "3 4\n");
  ASSERT_EQ(alike.size(), 1U);
  EXPECT_EQ(alike[0].key, "--routing " + path);
  EXPECT_EQ(alike[0].value, alike[0].expected);
  EXPECT_NE(differs.at(0).value, differs.at(0).expected);

  std::filesystem::remove(path);
  EXPECT_TRUE(facts_of_file(benchmark, "1 2\n").empty()) << "a rank needs no file of its own";
  EXPECT_THROW(read_benchmark_files("all", {benchmark}), moe::InputError);
}

TEST(BenchmarkFiles, BytesThatAreNoTextAreHandedOnToWhoRefusesThem) {
  const std::string path = testing::TempDir() + "/benchmark_files_test.bytes";
  std::ofstream(path) << "1 \xff\n";
  const Benchmark benchmark = reading(path);
  EXPECT_EQ(text_of_file(read_benchmark_files("all", {benchmark}), benchmark), "1 \xef\xbf\xbd\n");
}

}  // namespace
}  // namespace microbench::benchmark_files_test
