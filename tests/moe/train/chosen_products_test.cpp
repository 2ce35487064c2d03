#include "moe/train/chosen_products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "moe/communicator/local.h"
#include "moe/model/iteration.h"
#include "moe/train/products.h"
#include "tests/moe/run/noting_backend.h"
#include "tests/moe/train/training_case.h"

namespace moe::chosen_products_test {
namespace {

/// Its fastest way of a product is one of its own name.
class Multiplier : public test::NotingBackend {
 public:
  Multiplier(std::string library, std::string name)
      : library_(std::move(library)), name_(std::move(name)) {}
  std::string multiplies_by() override { return library_; }
  std::vector<ProductWay> time_products(std::span<const Product> products) override {
    std::vector<ProductWay> ways;
    for (const Product& product : products) ways.push_back({product, name_, 1, 2});
    timed = ways.size();
    return ways;
  }
  void take_ways(std::vector<ProductWay> ways) override { taken = std::move(ways); }

  std::size_t timed = 0;
  std::vector<ProductWay> taken;

 private:
  std::string library_, name_;
};

Product square(std::int64_t size) { return {.m = size, .n = size, .k = size}; }

struct Chosen {
  std::vector<KnownWay> all;
  std::vector<ProductWay> taken;
  std::size_t timed = 0;
};

/// Ranks 0, 1 and 3 have one kind of device; rank r has to carry out squares of r + 1 and 9.
std::vector<Chosen> choose(const std::vector<KnownWay>& known) {
  constexpr int kRanks = 4;
  std::vector<Chosen> chosen(kRanks);
  run_local_ranks(std::vector<int>(kRanks), [&](Communicator& world) {
    Multiplier backend(world.rank == 2 ? "other" : "one", std::to_string(world.rank));
    Chosen& mine = chosen[static_cast<std::size_t>(world.rank)];
    mine.all = choose_products(
        world, backend, {square(world.rank + 1), square(9)},
        [&](const std::string& library) {
          std::vector<KnownWay> of_library;
          for (const KnownWay& way : known) {
            if (way.library == library) of_library.push_back(way);
          }
          return of_library;
        },
        60);
    mine.taken = backend.taken;
    mine.timed = backend.timed;
  });
  return chosen;
}

TEST(ChosenProducts, AreTheSameOnAllDevicesOfAKindAndEachIsTimedOnce) {
  const std::vector<Chosen> chosen = choose({});
  const auto algorithms = [&](std::size_t rank) {
    std::vector<std::pair<std::int64_t, std::string>> pairs;
    for (const ProductWay& way : chosen[rank].taken)
      pairs.emplace_back(way.product.m, way.algorithm);
    return pairs;
  };
  const std::vector<std::pair<std::int64_t, std::string>> of_one{
      {1, "0"}, {2, "1"}, {4, "3"}, {9, "0"}};
  for (const std::size_t rank : {0u, 1u, 3u}) EXPECT_EQ(algorithms(rank), of_one) << rank;
  EXPECT_EQ(algorithms(2), (std::vector<std::pair<std::int64_t, std::string>>{{3, "2"}, {9, "2"}}));
  EXPECT_EQ(chosen[0].timed, 2u);
  EXPECT_EQ(chosen[1].timed, 1u);
  EXPECT_EQ(chosen[0].all.size(), 6u);
}

TEST(ChosenProducts, AreThoseThatWereFoundBefore) {
  const std::vector<Chosen> chosen = choose({{"one", {square(9), "before", 1, 2}},
                                             {"one", {square(7), "of another model", 1, 2}},
                                             {"two", {square(9), "of another device", 1, 2}}});
  for (const std::size_t rank : {0u, 1u, 3u}) {
    ASSERT_EQ(chosen[rank].taken.size(), 4u);
    EXPECT_EQ(chosen[rank].taken[3].algorithm, "before");
  }
  EXPECT_EQ(chosen[2].taken[1].algorithm, "2");
}

TEST(ChosenProducts, OfAProcessorAreNone) {
  run_local_ranks({0, 0}, [&](Communicator& world) {
    test::NotingBackend backend;
    EXPECT_TRUE(choose_products(world, backend, {square(2)}, {}, 60).empty());
  });
}

/// Every product of an iteration, as text and back.
std::set<std::string> texts(const Model& model, const Schedule& schedule = {}) {
  const Groups groups = make_groups(2, 2);
  std::set<std::string> texts;
  for (const Product& one :
       products_of(apply(build_iteration(model, groups, 0), schedule), groups, 0)) {
    const std::string text = product_text(one);
    EXPECT_EQ(product_of(text), one) << text;
    texts.insert(text);
  }
  return texts;
}

TEST(Products, OfAnIterationAreThoseOfItsLinearLayersAndExperts) {
  Model model = test::small_model(DType::bf16);
  model.capacity_factor.reset();
  const std::int64_t tokens = model.global_batch * model.sequence_length / 2;
  const std::int64_t rows = 2 * tokens * model.choices / model.experts;  // of an expert
  const auto text = [](const char* format, auto... sizes) {
    return fmt::format(fmt::runtime(format), sizes...);
  };
  const std::set<std::string> found = texts(model);
  const std::int64_t m = model.d_model, h = model.d_hidden;
  for (const std::int64_t each : {rows / 2, rows, 2 * rows}) {
    EXPECT_TRUE(found.contains(text("bf16 NN {} x {} x {} in bf16, biased", each, h, m)));
    EXPECT_TRUE(found.contains(text("bf16 NT {} x {} x {} in bf16", each, m, h)));
    EXPECT_TRUE(found.contains(text("bf16 TN {} x {} x {} in f32", m, h, each)));
  }
  EXPECT_TRUE(found.contains(text("bf16 NN {} x {} x {} in bf16, biased", tokens, 3 * m, m)));
  EXPECT_TRUE(found.contains(text("bf16 TN {} x {} x {} in f32", m, 3 * m, tokens)));

  // In two chunks each expert has half of them, and the second adds its weight gradients.
  const std::set<std::string> chunked = texts(model, test::chunked(model, 2, 2));
  EXPECT_TRUE(chunked.contains(text("bf16 TN {} x {} x {} in f32, added", m, h, rows / 2)));
}

TEST(Products, OfPaddedExpertsAreOneBatch) {
  Model model = test::small_model(DType::f32);
  model.capacity_factor = 1;
  model.exchange = ExchangedRows::padded;
  const std::set<std::string> found = texts(model);
  EXPECT_TRUE(std::ranges::any_of(found, [&](const std::string& text) {
    return text.ends_with(fmt::format(" in f32 {} times, biased", model.experts / 2));
  }));
  EXPECT_FALSE(product_of("f32 NN 2 x 3 in f32"));
  EXPECT_FALSE(product_of("f16 NN 2 x 3 x 4 in f32"));
}

}  // namespace
}  // namespace moe::chosen_products_test
