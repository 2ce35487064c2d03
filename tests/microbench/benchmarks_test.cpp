#include "microbench/benchmarks.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

#include "microbench/arguments.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"

namespace microbench::benchmarks_test {
namespace {

TEST(Benchmarks, HaveNamesOfTheirOwnAndOptionsThatDoNotCollide) {
  CLI::App app;
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) {
    names.push_back(benchmark.name);
    EXPECT_NO_THROW(declare_options(app, benchmark)) << benchmark.name;
  }
  EXPECT_THAT(names,
              testing::ElementsAre("gemm", "copies", "collectives", "interference", "pairs"));
}

TEST(Benchmarks, OptionsReachThePlans) {
  CLI::App app;
  const auto all = benchmarks();
  for (const Benchmark& benchmark : all) declare_options(app, benchmark);
  app.parse("--rows 8,16 --experts 2 --collectives broadcast --activities computation,copy", false);
  moe::run_local_ranks(1, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    Bench bench{world, world, *backend, moe::DType::f32, "cpu", {}};
    bench.ranks.resize(1);
    const CommonOptions common{.sizes = {4, 8, 12}, .sizes_text = "4,8,12"};
    for (const Benchmark& benchmark : all) benchmark.check(common);
    EXPECT_FALSE(all[4].plans) << "pairs measure all ranks at once";
    EXPECT_EQ(all[0].plans(bench, common).size(), 12u);
    EXPECT_EQ(all[1].plans(bench, common).size(), 9u);
    EXPECT_EQ(all[2].plans(bench, common).size(), 3u);
    EXPECT_EQ(all[3].plans(bench, common).size(), 2u);
  });
}

TEST(Benchmarks, CollectivesAreSweptFromSizesOnThatTellLatency) {
  const auto all = benchmarks();
  const auto sizes = moe::parse_sizes(all[2].sizes);
  EXPECT_EQ(all[2].name, "collectives");
  EXPECT_EQ(sizes.front(), 16 << 10);
  EXPECT_EQ(sizes.back(), 64 << 20);
  EXPECT_GE(sizes.size(), 10u);
  EXPECT_EQ(moe::parse_sizes(all[1].sizes).front(), 256 << 10) << "copies of what lies in memory";
}

TEST(Benchmarks, RefuseWhatTheyCannotMeasureBeforeAnyRankIsStarted) {
  CLI::App app;
  const auto all = benchmarks();
  for (const Benchmark& benchmark : all) declare_options(app, benchmark);
  app.parse("--collectives gossip --over cards", false);
  EXPECT_THROW(all[0].check({.sizes = {4}, .sizes_text = "4", .dtype = moe::DType::i32}),
               moe::InputError);
  EXPECT_THROW(all[2].check({.sizes = {4}, .sizes_text = "4"}), moe::InputError);
  EXPECT_THROW(all[3].check({.sizes = {4}, .sizes_text = "4", .dtype = moe::DType::i32}),
               moe::InputError);
  EXPECT_THROW(all[4].check({.sizes = {4}, .sizes_text = "4"}), moe::InputError);
  EXPECT_THROW(all[1].check({.sizes = {4, memory_bytes()}, .sizes_text = "4,"}), moe::InputError);
}

TEST(Benchmarks, InterferenceRefusesActivitiesAndSizesThatAreNone) {
  const auto check = [](const std::string& arguments) {
    CLI::App app;
    const auto all = benchmarks();
    for (const Benchmark& benchmark : all) declare_options(app, benchmark);
    app.parse(arguments, false);
    all[3].check({.sizes = {4}, .sizes_text = "4"});
  };
  EXPECT_NO_THROW(check("--activities copy,intra_node"));
  EXPECT_THROW(check("--activities copy,gossip"), moe::InputError);
  EXPECT_THROW(check("--activities copy"), moe::InputError) << "beside nothing";
  EXPECT_THROW(check("--beside-linear 8x8"), moe::InputError);
  EXPECT_THROW(check("--beside-linear 8x0x8"), moe::InputError);
  EXPECT_THROW(check("--beside-size 0"), moe::InputError);
  EXPECT_THROW(check("--beside-size 8000G"), moe::InputError);
}

}  // namespace
}  // namespace microbench::benchmarks_test
