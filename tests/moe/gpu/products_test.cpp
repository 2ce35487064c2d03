// Products in the ways that were timed, on a device.
#include "moe/train/products.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::gpu_products_test {
namespace {

class CudaProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(CudaProducts, ThatAreTimedHaveAWayThatIsNotSlowerThanTheLibrarysOwn) {
  const auto backend = make_cuda_backend(0);
  EXPECT_NE(backend->multiplies_by(), "");
  const std::vector<Product> products{
      {.m = 64, .n = 32, .k = 16},
      {.in = DType::bf16, .out = DType::bf16, .biased = true, .m = 64, .n = 32, .k = 16},
      {.in = DType::bf16, .out = DType::bf16, .biased = true, .m = 8, .n = 32, .k = 16, .batch = 3},
      {.in = DType::bf16, .out = DType::f32, .transpose_a = true, .m = 16, .n = 32, .k = 64},
      {.in = DType::bf16,
       .out = DType::bf16,
       .biased = true,
       .grouped = true,
       .m = 8,
       .n = 32,
       .k = 16,
       .batch = 5},
      {.in = DType::f64, .out = DType::f64, .m = 64, .n = 32, .k = 16}};
  const std::vector<ProductWay> ways = backend->time_products(products);
  ASSERT_EQ(ways.size(), 5u);  // in double there is one way
  for (std::size_t i = 0; i < ways.size(); ++i) {
    EXPECT_EQ(ways[i].product, products[i]);
    EXPECT_GT(ways[i].duration_s, 0);
    EXPECT_LE(ways[i].duration_s, ways[i].unasked_s);
    EXPECT_EQ(ways[i].algorithm.empty(), ways[i].duration_s == ways[i].unasked_s);
  }
}

/// Padded rows are products of one size, whose biases are added by the call, too.
TEST_F(CudaProducts, InWaysThatWereTimedGiveTheLossesOfTheCpu) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const ExchangedRows exchange : {ExchangedRows::irregular, ExchangedRows::padded}) {
      Model model = small_model(dtype);
      model.capacity_factor = 1.25;
      model.exchange = exchange;
      const Groups groups = make_groups(2, 2);
      const auto in_ways = [&] {
        auto backend = make_cuda_backend(0);
        std::vector<ProductWay> ways =
            backend->time_products(products_of(build_iteration(model, groups, 0), groups, 0));
        EXPECT_FALSE(ways.empty());
        backend->take_ways(std::move(ways));
        return backend;
      };
      const double limit = dtype == DType::f32 ? 1e-4 : 2e-2;
      const Outcome cpu = train_small(model, {}, groups, 2);
      const Outcome device = train_small(model, {}, groups, 2, in_ways);
      for (std::size_t step = 0; step < 2; ++step) {
        EXPECT_NEAR(device.losses[step], cpu.losses[step], limit * cpu.losses[step]);
      }
    }
  }
}

/// Experts of few tokens: in one call, one after the other, and on several streams.
TEST_F(CudaProducts, OfManySmallExpertsGiveTheLossesOfTheCpuInEveryWay) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Model model = small_model(dtype);
    const Groups groups = make_groups(2, 2);
    const Outcome cpu = train_small(model, {}, groups, 2);
    for (const std::string way : {"together", "one by one", "side by side"}) {
      const Outcome device = train_small(model, {}, groups, 2, [&] {
        auto backend = make_cuda_backend(0);
        std::vector<ProductWay> ways;
        for (const Product& one : products_of(build_iteration(model, groups, 0), groups, 0)) {
          if (one.grouped) ways.push_back({one, way});
        }
        EXPECT_FALSE(ways.empty());
        backend->take_ways(std::move(ways));
        return backend;
      });
      const double limit = dtype == DType::f32 ? 1e-4 : 2e-2;
      for (std::size_t step = 0; step < 2; ++step) {
        EXPECT_NEAR(device.losses[step], cpu.losses[step], limit * cpu.losses[step]) << way;
      }
    }
  }
}

/// What a way is stored as says nothing to another version of the library, or is damaged.
TEST_F(CudaProducts, WithoutAWayThatTheLibraryKnowsAreCarriedOutAsItChooses) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(1, 1);
  const auto with = [&](const std::string& algorithm) {
    return train_small(model, {}, groups, 2, [&] {
      auto backend = make_cuda_backend(0);
      std::vector<ProductWay> ways;
      for (const Product& one : products_of(build_iteration(model, groups, 0), groups, 0)) {
        ways.push_back({one, algorithm});
      }
      backend->take_ways(std::move(ways));
      return backend;
    });
  };
  const Outcome unasked = train_small(model, {}, groups, 2, [] { return make_cuda_backend(0); });
  for (const std::string algorithm : {"", "0", "no text of cublasLt"}) {
    EXPECT_EQ(with(algorithm).losses, unasked.losses) << algorithm;
  }
}

}  // namespace
}  // namespace moe::test::gpu_products_test
