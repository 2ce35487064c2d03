// A simulated timeline holds what a measured one does: the same ops on every stream of every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "moe/model/iteration.h"
#include "tests/moe/train/layout_cases.h"
#include "tests/moe/train/training_case.h"
#include "tests/tuner/small_program.h"
#include "tuner/simulate/simulate.h"

namespace tuner::simulated_layout_test {
namespace {

using moe::test::LayoutCase;

using Streams = std::array<std::vector<int>, moe::kStreamCount>;

/// Ops of a rank by stream, in the order in which they began.
Streams ops_by_stream(const moe::Program& program, std::vector<moe::OpSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return a.start_s != b.start_s ? a.start_s < b.start_s : a.op < b.op;
  });
  Streams streams;
  for (const moe::OpSpan& span : spans) {
    const moe::Op& op = program.ops[static_cast<std::size_t>(span.op)];
    streams[static_cast<std::size_t>(op.stream)].push_back(span.op);
  }
  return streams;
}

struct SimulatedLayout : ::testing::TestWithParam<LayoutCase> {};

TEST_P(SimulatedLayout, HasTheOpsOfTheMeasuredOneOnEveryStreamOfEveryRank) {
  const moe::Model model = moe::test::layout_model();
  const moe::Groups groups = moe::make_groups(GetParam().layout, {0, 0, 0, 0, 1, 1, 1, 1});
  const auto measured = moe::test::train_small(model, GetParam().schedules.front(), groups, 1);
  const moe::Program program =
      moe::apply(moe::build_iteration(model, groups, 0), GetParam().schedules.front());
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = costs.fits["memory"].beta_s_per_unit = 1e-10;
  costs.fits["gemm"].alpha_s = costs.fits["memory"].alpha_s = 1e-6;
  costs.fits[gemm_fit("f64")] = costs.fits["gemm"];
  const moe::Timeline simulated =
      simulate(program, groups, measured.routing, costs, test::small_cluster());
  ASSERT_EQ(simulated.ranks.size(), measured.timeline.ranks.size());
  for (std::size_t rank = 0; rank < simulated.ranks.size(); ++rank) {
    EXPECT_EQ(ops_by_stream(program, simulated.ranks[rank]),
              ops_by_stream(program, measured.timeline.ranks[rank]))
        << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(On8, SimulatedLayout, ::testing::ValuesIn(moe::test::layout_cases(8)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tuner::simulated_layout_test
