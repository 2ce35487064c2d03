#include "tuner/scenario/more_nodes.h"

#include <gtest/gtest.h>

#include <vector>

namespace tuner::more_nodes_test {
namespace {

MeasuredCosts two_nodes_of_two(std::vector<SharedProcessors> shared) {
  MeasuredCosts measured;
  Cluster& cluster = measured.costed.cluster;
  cluster.nodes = cluster.ranks_per_node = 2;
  cluster.inter_node = {1e9, 1e-5};
  cluster.shared_processors = std::move(shared);
  return measured;
}

TEST(MoreNodes, RanksShareTheProcessorsOfTheirNode) {
  const MeasuredCosts measured =
      with_nodes(two_nodes_of_two({{1, {0, 1}}, {1, {2, 3}}}), {.nodes = 3});
  const std::vector<SharedProcessors> expected{{1, {0, 1}}, {1, {2, 3}}, {1, {4, 5}}};
  EXPECT_EQ(measured.costed.cluster.shared_processors, expected);
}

TEST(MoreNodes, NodesOfOneComputerShareItsProcessors) {
  const MeasuredCosts measured = with_nodes(two_nodes_of_two({{2, {0, 1, 2, 3}}}), {.nodes = 3});
  const std::vector<SharedProcessors> expected{{2, {0, 1, 2, 3, 4, 5}}};
  EXPECT_EQ(measured.costed.cluster.shared_processors, expected);
}

TEST(MoreNodes, AsManyAsWereMeasuredChangeNothing) {
  const MeasuredCosts measured = with_nodes(two_nodes_of_two({{2, {0, 1, 2, 3}}}), {.nodes = 2});
  EXPECT_EQ(measured.costed.cluster.nodes, 2);
  EXPECT_TRUE(measured.remarks.empty());
}

}  // namespace
}  // namespace tuner::more_nodes_test
