#include "moe/rows/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "moe/errors.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing_file.h"

namespace moe::routing_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::int64_t total(const std::vector<std::int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

TEST(Routing, UniformGivesTheRemainderToTheFirst) {
  EXPECT_THAT(uniform_routing(0, 1, 3, 8).tokens[0], ElementsAre(3, 3, 2));
  const LayerRouting even = uniform_routing(0, 2, 4, 8);
  EXPECT_THAT(even.tokens, Each(ElementsAre(2, 2, 2, 2)));
}

TEST(Routing, ZipfKeepsTheCountAndIsUnbalancedAsItsExponentSays) {
  const LayerRouting routing = zipf_routing(0, 4, 8, 1000, 1.2, 9);
  for (const auto& row : routing.tokens) EXPECT_EQ(total(row), 1000);
  double harmonic = 0;
  for (int e = 1; e <= 8; ++e) harmonic += std::pow(e, -1.2);
  // Every source rank draws the same, so one row has the shares of all.
  EXPECT_NEAR(std::ranges::max(routing.tokens[0]), 1000 / harmonic, 1);
  EXPECT_EQ(zipf_routing(0, 4, 8, 1000, 1.2, 9).tokens, routing.tokens) << "the seed decides";
}

TEST(Routing, ZipfGivesNoExpertMoreThanThereAreTokens) {
  for (const double exponent : {0.0, 1.2, 20.0}) {
    const LayerRouting routing = zipf_routing(0, 1, 8, 3 * 100, exponent, 9, 100);
    EXPECT_EQ(total(routing.tokens[0]), 300);
    EXPECT_LE(std::ranges::max(routing.tokens[0]), 100);
    EXPECT_GE(std::ranges::min(routing.tokens[0]), 0);
  }
  EXPECT_THAT(zipf_routing(0, 1, 2, 200, 20, 9, 100).tokens[0], ElementsAre(100, 100));
  EXPECT_THROW(zipf_routing(0, 1, 2, 201, 1, 9, 100), std::invalid_argument);
}

TEST(Routing, ComesBackFromJson) {
  const Routing routing{{zipf_routing(3, 2, 4, 50, 1, 1), uniform_routing(5, 2, 4, 50)}};
  const Routing read = routing_from_json(to_json(routing));
  ASSERT_EQ(read.layers.size(), 2u);
  EXPECT_EQ(layer_of(read, {3}).tokens, routing.layers[0].tokens);
  EXPECT_EQ(layer_of(read, {5}).experts, 4);
  EXPECT_THROW(layer_of(read, {4}), std::out_of_range);
}

std::string error_of(const std::string& text) {
  try {
    routing_from_json(text, "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string tokens_error(const std::string& tokens) {
  return error_of(R"({"layers": [{"layer": 1, "tokens": )" + tokens + "}]}");
}

TEST(Routing, SaysWhatJsonItExpected) {
  EXPECT_THAT(error_of("[]"), HasSubstr("expected a list per MoE layer, of a count per expert"));
  EXPECT_THAT(error_of("3"), HasSubstr("expected an object, got 3"));
  EXPECT_EQ(error_of("{}"), "r.json:1: layers: missing; expected a list of layers");
  EXPECT_THAT(tokens_error("[[1, 2], [3]]"),
              HasSubstr("layers[0].tokens[1]: expected as many experts as in the first row, 2"));
  EXPECT_THAT(tokens_error("[[]]"), HasSubstr("layers[0].tokens[0]: expected"));
  EXPECT_THAT(tokens_error("[]"), HasSubstr("layers[0].tokens: expected at least one rank"));
  EXPECT_THAT(tokens_error("[[1, -2]]"), HasSubstr("tokens[0][1]: expected an integer from 0"));
  EXPECT_THAT(tokens_error("[[1.5]]"), HasSubstr("got 1.5"));
  EXPECT_THAT(tokens_error("[[true]]"), HasSubstr("got true"));
}

TEST(Routing, RefusesWhatItDoesNotKnowAndWhatIsThereTwice) {
  EXPECT_THAT(error_of(R"({"layers": [], "laers": []})"), HasSubstr("laers: unknown key"));
  EXPECT_THAT(error_of(R"({"layers": [{"layer": 1, "tokens": [[1]], "experts": 1}]})"),
              HasSubstr("layers[0].experts: unknown key"));
  EXPECT_THAT(error_of(R"({"layers": [], "layers": []})"), HasSubstr("there twice"));
  EXPECT_THAT(
      error_of(R"({"layers": [{"layer": 1, "tokens": [[1]]}, {"layer": 1, "tokens": [[1]]}]})"),
      HasSubstr("layers[1].layer: this layer is there twice"));
}

TEST(Routing, RefusesCountsWhoseSumOverflows) {
  EXPECT_EQ(tokens_error("[[4294967296]]"), "no error");
  EXPECT_THAT(tokens_error("[[4294967297]]"),
              HasSubstr("expected an integer from 0 to 4294967296"));
  EXPECT_THAT(tokens_error("[[4294967296], [1]]"),
              HasSubstr("expected at most 4294967296 copies in a layer"));
  EXPECT_THAT(tokens_error("[[9223372036854775807, 9223372036854775807]]"),
              HasSubstr("expected an integer"));
}

TEST(Routing, RefusesDeepNesting) {
  EXPECT_THAT(error_of(std::string(80000, '[')), HasSubstr("expected at most 64 levels"));
}

TEST(Routing, WhatGatesAskedForGoesThroughJsonAndAddsUp) {
  Routing routing{{{1, 2, {{3, 1}, {2, 5}}, 0, {{3, 4}, {2, 6}}},
                   {1, 2, {{1, 1}, {1, 1}}, 1, {{1, 2}, {3, 4}}}}};
  const Routing read = routing_from_json(to_json(routing));
  ASSERT_EQ(read.layers.size(), 2u);
  EXPECT_EQ(read.layers[0].asked, routing.layers[0].asked);
  const Routing whole = add_micro_batches(read);
  ASSERT_EQ(whole.layers.size(), 1u);
  EXPECT_EQ(whole.layers[0].tokens, (std::vector<std::vector<std::int64_t>>{{4, 2}, {3, 6}}));
  EXPECT_EQ(whole.layers[0].asked, (std::vector<std::vector<std::int64_t>>{{4, 6}, {5, 10}}));
  EXPECT_TRUE(share_among_micro_batches(whole, 2).layers[0].asked.empty());
  EXPECT_THROW(
      routing_from_json(R"({"layers": [{"layer": 1, "tokens": [[1, 2]], "asked": [[1, 2, 3]]}]})"),
      InputError);
}

TEST(PartOf, SharesRowsAndExpertsEvenlyUnlessItWasRecorded) {
  LayerRouting whole{1, 64, std::vector(4, std::vector<std::int64_t>(64, 2))};
  for (const int parts : {2, 3, 8}) {
    LayerRouting sum{1, 64, std::vector(4, std::vector<std::int64_t>(64, 0))};
    for (int i = 0; i < parts; ++i) {
      const LayerRouting part = part_of(whole, {i, parts});
      for (std::size_t rank = 0; rank < 4; ++rank) {
        std::int64_t sent = 0;
        for (std::size_t e = 0; e < 64; ++e) {
          sent += part.tokens[rank][e];
          sum.tokens[rank][e] += part.tokens[rank][e];
        }
        EXPECT_LE(std::abs(sent - 128 / parts), 1) << "part " << i << " of " << parts;
      }
    }
    EXPECT_EQ(sum.tokens, whole.tokens);
  }
  whole.by_part = {whole.tokens, std::vector(4, std::vector<std::int64_t>(64, 0))};
  EXPECT_EQ(part_of(whole, {0, 2}).tokens, whole.tokens);
  EXPECT_EQ(part_of(whole, {1, 2}).tokens[3][5], 0);
}

}  // namespace
}  // namespace moe::routing_test
