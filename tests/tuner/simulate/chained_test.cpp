#include "tuner/simulate/chained.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/tuner/small_program.h"
#include "tuner/simulate/simulate.h"

namespace tuner::chained_test {
namespace {

using namespace test;

const moe::Routing kEven = small_routing({{1000, 1000}, {1000, 1000}});

ChainedIterations chained_iterations(const moe::Program& program, int iterations = 3) {
  const ProgramCosts costs =
      program_costs(program, two_nodes(), kEven, small_costs(), small_cluster());
  return simulate_chained(program, costs, small_costs(), small_cluster(), iterations);
}

TEST(SimulateChained, OnOneStreamTakesWhatIterationsTakeAlone) {
  const auto layer = small_layer(true);
  const double alone =
      simulate(layer.program, two_nodes(), kEven, small_costs(), small_cluster()).duration_s;
  const ChainedIterations chained = chained_iterations(layer.program);
  EXPECT_NEAR(chained.middle_s, alone, 1e-9);
  EXPECT_NEAR(chained.total_s, 3 * alone, 1e-9);
}

TEST(SimulateChained, WhatSpillsOverAnEndMeetsTheNextBeginning) {
  // 4 s of work that nothing waits for, on a stream of its own, issued after all other ops:
  // alone it makes an iteration of 7.5 s one of 11.5 s, in a row it runs beside the next iteration.
  auto program = small_layer(true).program;
  for (moe::Op& op : program.ops) {
    if (op.name == "unrelated") op.stream = moe::Stream::intra_node;
  }
  moe::Op last = program.ops[program.ops.size() - 2];
  ASSERT_EQ(last.name, "unrelated");
  const moe::Use result = program.ops.back().writes.front();
  program.ops.erase(program.ops.end() - 2);
  last.reads = {result};
  program.ops.push_back(last);
  const double alone =
      simulate(program, two_nodes(), kEven, small_costs(), small_cluster()).duration_s;
  EXPECT_NEAR(alone, kExchange_s + 7.5 + 4, 1e-9);
  const ChainedIterations chained = chained_iterations(program);
  EXPECT_NEAR(chained.middle_s, kExchange_s + 7.5, 1e-9);
  EXPECT_NEAR(chained.total_s, 3 * (kExchange_s + 7.5) + 4, 1e-9);
}

TEST(SimulateChained, NeedsAMiddle) {
  const auto layer = small_layer();
  for (const int iterations : {-1, 0, 1, 2, 4}) {
    EXPECT_THROW(chained_iterations(layer.program, iterations), std::invalid_argument)
        << iterations;
  }
}

}  // namespace
}  // namespace tuner::chained_test
