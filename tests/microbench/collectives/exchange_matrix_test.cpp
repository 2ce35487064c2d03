#include "microbench/collectives/exchange_matrix.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "moe/errors.h"

namespace microbench::exchange_matrix_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& routing, const std::string& text, int ranks) {
  try {
    exchange_matrix(routing, text, ranks);
  } catch (const moe::InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ExchangeMatrix, UniformIsEvenAndZipfIsNot) {
  const auto even = exchange_matrix("uniform", "", 4).weight;
  for (const auto& row : even) EXPECT_THAT(row, testing::Each(row.front()));
  const auto skewed = exchange_matrix("zipf:1.2", "", 4).weight;
  EXPECT_EQ(skewed[0], skewed[3]);
  const auto [least, most] = std::ranges::minmax(skewed[0]);
  EXPECT_GT(most, 1.5 * least);
  EXPECT_EQ(exchange_matrix("uniform", "", 100).weight.size(), 100U) << "more ranks than experts";
}

TEST(ExchangeMatrix, AByteMatrixIsReadByLines) {
  EXPECT_THAT(exchange_matrix("b.csv", "0, 1e6\n\n2000 3\n", 2).weight,
              ElementsAre(ElementsAre(0, 1e6), ElementsAre(2000, 3)));
  EXPECT_THAT(refusal("b.csv", "0,1\n2,x\n", 2), HasSubstr("b.csv:2: \"x\""));
  EXPECT_THAT(refusal("b.csv", "0,1\n2,-3\n", 2), HasSubstr("b.csv:2: \"-3\""));
  EXPECT_THAT(refusal("b.csv", "0,1,2\n", 2), HasSubstr("b.csv:1: 3 numbers: expected 2"));
  EXPECT_THAT(refusal("b.csv", "0,1\n", 2), HasSubstr("1 lines of numbers: expected 2"));
  EXPECT_THAT(refusal("b.csv", "0 0\n0 0\n", 2), HasSubstr("nothing is sent"));
}

TEST(ExchangeMatrix, ARoutingFileDividesItsExpertsAmongRanks) {
  const std::string text = R"({"layers": [{"layer": 1, "tokens": [[1, 2, 3, 4], [5, 6, 7, 8]]}]})";
  EXPECT_THAT(exchange_matrix("r.json", text, 2).weight,
              ElementsAre(ElementsAre(3, 7), ElementsAre(11, 15)));
  EXPECT_THAT(refusal("r.json", text, 4), HasSubstr("2 source ranks: expected 4"));
  EXPECT_THAT(refusal("r.json", text, 3), HasSubstr("2 source ranks: expected 3"));
  EXPECT_THAT(refusal("r.json", text, 5), HasSubstr("4 experts are fewer than 5 ranks"));
  const std::string three = R"({"layers": [{"layer": 1, "tokens": [[1, 2, 3], [5, 6, 7]]}]})";
  EXPECT_THAT(exchange_matrix("r.json", three, 2).weight,
              ElementsAre(ElementsAre(3, 3), ElementsAre(11, 7)));
}

TEST(ExchangeMatrix, WordsAndFilesAreCheckedBeforeRanksStart) {
  const Benchmark benchmark = collective_benchmark();
  const auto option = std::ranges::find(benchmark.options, "--routing", &BenchmarkOption::name);
  std::string& routing = *std::get<std::string*>(option->value);
  CommonOptions common{{4096}, "4K", moe::DType::f32, 2, "1 2\n3 4\n"};
  for (const char* good : {"", "uniform", "zipf:0.5", "a file"}) {
    routing = good;
    EXPECT_NO_THROW(benchmark.check(common)) << good;
    EXPECT_EQ(benchmark.file.path(), routing == "a file" ? "a file" : "");
  }
  common.file_text = "1 2 3\n";
  for (const char* bad : {"zipf:-1", "zipf:1.2x", "a file"}) {
    routing = bad;
    EXPECT_THROW(benchmark.check(common), moe::InputError) << bad;
  }
}

TEST(ExchangeMatrix, RoutedExchangesArriveRightAlsoWhereARankGetsNothing) {
  const std::string text = "5 0 1\n7 0 2\n0 0 9\n";
  for (const std::string routing : {"uniform", "zipf:2", "a file"}) {
    moe::run_local_ranks(3, [&](moe::Communicator& world) {
      const auto backend = moe::make_cpu_backend(1);
      const Bench bench{world,    world,
                        *backend, moe::DType::f32,
                        "cpu",    {.shortest_sample_s = 0, .fewest_samples = 3, .budget_s = 0.001}};
      for (const Plan& plan :
           collective_plans(bench, {"all_to_all_v"}, {4, 48, 40'000}, routing, text)) {
        const Result result = measure(bench, plan.make());
        EXPECT_EQ(result.measurement.wrong, 0) << routing << " " << plan.name;
        EXPECT_THAT(result.measurement.parameters_json, HasSubstr(nlohmann::json(routing).dump()));
        EXPECT_EQ(plan.name, fmt::format("all_to_all_v/{}", result.measurement.bytes));
      }
    });
  }
}

TEST(ExchangeMatrix, TheBusiestRankReceivesTheSize) {
  const ExchangeMatrix exchange{"m", {{1, 3}, {1, 3}}};
  moe::run_local_ranks(2, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", {}};
    const CollectivePart part = routed_all_to_all_v(exchange).part(bench, 600);
    EXPECT_EQ(part.received, world.rank == 0 ? 200 : 600);
    EXPECT_EQ(part.sent, 400);
    EXPECT_EQ(part.count, 600);
    EXPECT_THAT(part.parameters_json, HasSubstr("\"imbalance\":1.5"));
  });
}

TEST(ExchangeMatrix, SmallSizesAreExchangedWhole) {
  moe::run_local_ranks(4, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", {}};
    const auto received = [&](const std::string& routing, std::int64_t count) {
      const auto part =
          routed_all_to_all_v(exchange_matrix(routing, "", world.size)).part(bench, count);
      EXPECT_EQ(part.count, count) << routing;
      return part.receive;
    };
    // One element of each: from the next rank.
    for (const moe::Segment& from : received("uniform", 1)) {
      EXPECT_EQ(from.rows, from.peer == (world.rank + 1) % 4 ? 1 : 0) << world.rank;
    }
    for (const moe::Segment& from : received("uniform", 6)) {
      EXPECT_EQ(from.rows,
                from.peer == (world.rank + 1) % 4 || from.peer == (world.rank + 2) % 4 ? 2 : 1);
    }
    received("zipf:1.2", 2);
  });
}

TEST(ExchangeMatrix, SizesInWhichNothingIsSentAreLeftOut) {
  const std::string text = "98 2\n2 98\n";
  moe::run_local_ranks(2, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", {}};
    const auto names = [&](const std::string& matrix) {
      std::vector<std::string> all;
      for (const Plan& plan : collective_plans(bench, {"all_to_all_v"}, {8, 400}, "m", matrix)) {
        all.push_back(plan.name);
      }
      return all;
    };
    EXPECT_THAT(names(text), ElementsAre("all_to_all_v/400"));
    EXPECT_THAT(names("1 0\n0 1\n"), testing::SizeIs(2)) << "nothing is meant to be sent";
  });
}

}  // namespace
}  // namespace microbench::exchange_matrix_test
