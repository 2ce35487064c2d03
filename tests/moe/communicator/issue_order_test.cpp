#include "moe/communicator/issue_order.h"

#include <gmock/gmock.h>

namespace moe::issue_order_test {
namespace {

TEST(IssueOrder, ChainsCommunicationsOfAllDeviceStreamsInProgramOrder) {
  Program program;
  const auto add = [&](OpKind kind, Stream stream) {
    Op op{std::move(kind), {}, {}, "op"};
    op.stream = stream;
    program.ops.push_back(std::move(op));
  };
  add(AllToAll{}, Stream::inter_node);   // 0
  add(Add{}, Stream::compute);           // 1
  add(AllReduce{}, Stream::intra_node);  // 2
  add(ExchangeCounts{}, Stream::host);   // 3: through host memory
  add(AllToAll{}, Stream::inter_node);   // 4
  add(AllReduce{}, Stream::compute);     // 5
  EXPECT_THAT(issued_before(program), testing::ElementsAre(-1, -1, 0, -1, 2, 4));
}

}  // namespace
}  // namespace moe::issue_order_test
