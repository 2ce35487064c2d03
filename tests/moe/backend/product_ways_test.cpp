#include "moe/backend/product_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace moe::product_ways_test {
namespace {

Product forward(std::int64_t rows) {
  return {.in = DType::bf16, .out = DType::bf16, .biased = true, .m = rows, .n = 64, .k = 32};
}
Product weight_gradient(std::int64_t rows) {
  return {.in = DType::bf16, .out = DType::f32, .transpose_a = true, .m = 32, .n = 64, .k = rows};
}

TEST(ProductWays, AreOfTheNearestNumberOfTokensUpToTwiceAsMany) {
  std::vector<ProductWay> ways;
  for (const std::int64_t rows : {1000, 2000, 4000}) {
    ways.push_back({forward(rows), std::to_string(rows)});
    ways.push_back({weight_gradient(rows), "gradient " + std::to_string(rows)});
  }
  const auto algorithm = [&](const Product& product) {
    const ProductWay* way = way_of(ways, product);
    return way == nullptr ? std::string("none") : way->algorithm;
  };
  for (int order = 0; order < 2; ++order) {
    EXPECT_EQ(algorithm(forward(2000)), "2000");
    EXPECT_EQ(algorithm(forward(1400)), "1000");
    EXPECT_EQ(algorithm(forward(1430)), "2000");
    EXPECT_EQ(algorithm(forward(500)), "1000");
    EXPECT_EQ(algorithm(forward(499)), "none");
    EXPECT_EQ(algorithm(forward(8001)), "none");
    EXPECT_EQ(algorithm(weight_gradient(3000)), "gradient 4000");
    std::ranges::reverse(ways);
  }
}

TEST(ProductWays, OfAGroupAreThoseOfAnyNumberOfProducts) {
  Product group = forward(1000);
  group.grouped = true;
  group.batch = 64;
  const std::vector<ProductWay> ways{{group, "a"}};
  group.batch = 61;
  ASSERT_NE(way_of(ways, with_tokens(group, 700)), nullptr);
  EXPECT_EQ(way_of(ways, forward(1000)), nullptr);
}

TEST(ProductWays, AreOfNothingElse) {
  const std::vector<ProductWay> ways{{forward(1000), "a"}};
  for (const auto change : std::vector<void (*)(Product&)>{
           [](Product& p) { p.in = DType::f32; }, [](Product& p) { p.out = DType::f32; },
           [](Product& p) { p.transpose_b = true; }, [](Product& p) { p.accumulate = true; },
           [](Product& p) { p.biased = false; }, [](Product& p) { p.n = 65; },
           [](Product& p) { p.k = 33; }, [](Product& p) { p.batch = 2; },
           [](Product& p) { p.grouped = true; }}) {
    Product other = forward(1000);
    change(other);
    EXPECT_EQ(way_of(ways, other), nullptr);
  }
}

}  // namespace
}  // namespace moe::product_ways_test
