#include "moe/rows/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "moe/program/program_builder.h"
#include "moe/program/row_handling.h"

namespace moe::binding_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Layer 3 of a Program whose dispatch is cut in two: 2 ranks with an expert each.
struct Layer {
  ProgramBuilder build{DType::f32};
  TensorId x = build.activation("x", 10, 5);
  TensorId counts = build.integers("counts", 1, 2);
  TensorId sent = build.routed("sent", Rows::sent, 0, 5, 3);
  TensorId received = build.routed("received", Rows::received, 0, 5, 3);
  TensorId bounded = build.routed("bounded", Rows::received, 40, 5, 3);
  // Expert 0 gets 3 rows of rank 0 and 2 of rank 1; expert 1 gets 1 and 5.
  Routing routing{{LayerRouting{3, 2, {{3, 1}, {2, 5}}}}};
  Groups groups = make_groups(2, 2);

  Layer() {
    build.op(ExchangeCounts{2}, "exchange counts", {counts, counts}, {counts}, 3, Phase::forward);
    for (const int index : {0, 1}) {
      build.op(AllToAll{}, "dispatch", {sent}, {received}, 3, Phase::forward);
      build.program.ops.back().reads[0].slice = {index, 2};
      build.program.ops.back().writes[0].slice = {index, 2};
    }
  }
  const Tensor& tensor(TensorId id) const {
    return build.program.tensors[static_cast<std::size_t>(id)];
  }
  Binding bound(int rank) const { return bind(build.program, routing, groups, rank); }
};

TEST(Binding, GivesEveryRankWhatItSendsAndReceives) {
  const Layer layer;
  EXPECT_EQ(rows_of(layer.tensor(layer.sent), layer.bound(0)), 4);
  EXPECT_EQ(rows_of(layer.tensor(layer.received), layer.bound(0)), 5);
  EXPECT_EQ(rows_of(layer.tensor(layer.sent), layer.bound(1)), 7);
  EXPECT_EQ(rows_of(layer.tensor(layer.received), layer.bound(1)), 6);
}

TEST(Binding, CutsRoutedRowsExpertByExpertAndFixedOnesEvenly) {
  const Layer layer;
  const Binding binding = layer.bound(0);
  // The first halves of 3 rows to expert 0 and 1 row to expert 1 are 1 and 0 rows.
  EXPECT_EQ(rows_of(layer.tensor(layer.sent), {0, 2}, binding), 1);
  EXPECT_EQ(rows_of(layer.tensor(layer.sent), {1, 2}, binding), 3);
  // The first halves of 3 rows from rank 0 and 2 rows from rank 1 are 1 and 1 rows.
  EXPECT_EQ(rows_of(layer.tensor(layer.received), {0, 2}, binding), 2);
  EXPECT_EQ(rows_of(layer.tensor(layer.received), {1, 2}, binding), 3);
  EXPECT_EQ(rows_of(layer.tensor(layer.x), {0, 3}, binding), 3);
  EXPECT_EQ(rows_of(layer.tensor(layer.x), {2, 3}, binding), 4);
  EXPECT_EQ(rows_of(layer.tensor(layer.x), {1, 3, 2}, binding), 7);
}

TEST(Binding, ARankThatGetsNothingHasNoRows) {
  Layer layer;
  layer.routing.layers[0].tokens = {{0, 4}, {0, 5}};
  EXPECT_EQ(rows_of(layer.tensor(layer.received), layer.bound(0)), 0);
  EXPECT_EQ(rows_of(layer.tensor(layer.received), {1, 2}, layer.bound(0)), 0);
  EXPECT_EQ(allocated_bytes(layer.tensor(layer.received), layer.bound(0)), 0);
}

TEST(Binding, OnlyFixedRowsAreKnownBeforeTheRouting) {
  const Layer layer;
  EXPECT_TRUE(is_bound(layer.tensor(layer.x), {}));
  EXPECT_FALSE(is_bound(layer.tensor(layer.sent), {}));
  EXPECT_TRUE(is_bound(layer.tensor(layer.sent), layer.bound(0)));
  EXPECT_EQ(rows_of(layer.tensor(layer.x), {}), 10);
  EXPECT_THAT([&] { rows_of(layer.tensor(layer.sent), {}); },
              ThrowsMessage<std::out_of_range>(AllOf(HasSubstr("sent"), HasSubstr("layer 3"))));
}

TEST(Binding, SetsAsideWhatCapacityAllowsAndOtherwiseWhatIsUsed) {
  const Layer layer;
  EXPECT_EQ(allocated_bytes(layer.tensor(layer.bounded), {}), 40 * 5 * 4);
  EXPECT_EQ(allocated_bytes(layer.tensor(layer.bounded), layer.bound(0)), 40 * 5 * 4);
  EXPECT_EQ(allocated_bytes(layer.tensor(layer.received), layer.bound(0)), 5 * 5 * 4);
  EXPECT_THROW(allocated_bytes(layer.tensor(layer.received), {}), std::out_of_range);
  Tensor doubles = layer.tensor(layer.x);
  doubles.dtype = DType::f64;
  EXPECT_EQ(allocated_bytes(doubles, {}), 10 * 5 * 8);
}

TEST(Binding, NeedsTheRoutingOfEveryLayer) {
  Layer layer;
  layer.routing.layers[0].layer = 1;
  EXPECT_THAT([&] { layer.bound(0); }, ThrowsMessage<std::out_of_range>(HasSubstr("layer 3")));
}

}  // namespace
}  // namespace moe::binding_test
