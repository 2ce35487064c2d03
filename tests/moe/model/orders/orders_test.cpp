#include "moe/model/orders/orders.h"

#include <gtest/gtest.h>

#include <map>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"

namespace moe::orders_test {
namespace {

using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::small_model;
using test::train_small;

const Schedule kSequence{"sequential", {}};

Model with_order(const std::string& order, int choices, DType dtype) {
  Model model = small_model(dtype);
  model.order = order;
  model.choices = choices;
  model.capacity_factor = 1.25;
  return model;
}

TEST(Orders, AreFoundByNameAndListedWhereThereIsNone) {
  EXPECT_EQ(order_named("einsum").name, "einsum");
  EXPECT_THROW(order_named("dense"), InputError);
}

TEST(EinsumOrder, GivesTheBitsOfTheSparseOneWhereATokenHasOneCopy) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Outcome sparse = train_small(with_order("sparse", 1, dtype), kSequence, 2, 1);
    const Outcome einsum = train_small(with_order("einsum", 1, dtype), kSequence, 2, 1);
    EXPECT_EQ(einsum.losses, sparse.losses);
    EXPECT_EQ(einsum.auxiliary_losses, sparse.auxiliary_losses);
    EXPECT_GT(sparse.dropped.back(), 0);
    EXPECT_EQ(einsum.dropped, sparse.dropped);
    // The gradient of a weight is a sum over the width, in another order.
    EXPECT_LT(largest_difference(einsum, sparse), dtype == DType::f64 ? 1e-13 : 1e-6);
  }
}

TEST(EinsumOrder, AgreesWithTheSparseOneOnAnyRanksWithSeveralCopiesAndInChunks) {
  for (const Layout& layout :
       {Layout{1, 1, 1}, Layout{1, 4, 1}, Layout{1, 2, 2}, Layout{2, 2, 1}}) {
    const Outcome sparse = train_small(with_order("sparse", 2, DType::f64), kSequence, layout, 2);
    for (const int chunks : {1, 3}) {
      const Model model = with_order("einsum", 2, DType::f64);
      const Outcome einsum = train_small(model, chunked(model, chunks, 2), layout, 2);
      EXPECT_NEAR(einsum.losses[0], sparse.losses[0], 1e-13 * sparse.losses[0]);
      EXPECT_NEAR(einsum.losses[1], sparse.losses[1], 1e-10 * sparse.losses[1]);
      EXPECT_LT(largest_difference(einsum, sparse), 1e-12) << to_text(layout);
      EXPECT_EQ(einsum.planned_peaks.size(), sparse.planned_peaks.size());
    }
  }
}

TEST(EinsumOrder, IsDroplessToo) {
  Model sparse = small_model(DType::f64), einsum = sparse;
  einsum.order = "einsum";
  EXPECT_LT(largest_difference(train_small(einsum, kSequence, 2, 1),
                               train_small(sparse, kSequence, 2, 1)),
            1e-12);
}

/// FLOPs by op name under even routing, of one rank of two.
std::map<std::string, double> flops_of(const Model& model) {
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(model, groups, 0);
  Routing routing;
  for (const Op& op : program.ops) {
    if (binds_routing(op)) {
      routing.layers.push_back(uniform_routing(op.layer, 2, model.experts, 8 * 28));
    }
  }
  const Binding binding = bind(program, routing, groups, 0);
  std::map<std::string, double> flops;
  for (const Op& op : program.ops) {
    flops[op.name] += work_of(program, op, binding, groups, 0).flops;
  }
  return flops;
}

TEST(EinsumOrder, CountsThreeProductsOfRowsTokensAndWidthEachWay) {
  Model model = small_model(DType::f32);
  model.choices = 2;
  model.order = "einsum";
  // 14 sequences of 8 tokens on a rank, two copies of each: a multiply and an add for all of width
  // 16.
  const double tokens = 14 * 8, rows = 2 * tokens, product = 2 * rows * tokens * 16;
  const auto flops = flops_of(model);
  for (const char* name : {"order einsum", "order einsum dX", "combine einsum", "combine einsum dM",
                           "combine einsum dX"}) {
    ASSERT_TRUE(flops.contains(name)) << name;
    EXPECT_EQ(flops.at(name), product) << name;
  }
  model.order = "sparse";
  EXPECT_EQ(flops_of(model).at("permute"), 0);
}

}  // namespace
}  // namespace moe::orders_test
