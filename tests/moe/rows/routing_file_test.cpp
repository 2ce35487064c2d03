#include "moe/rows/routing_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"

namespace moe::routing_file_test {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  try {
    routing_file_from_json(text, "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RoutingFile, HasTheCopiesAskedForAndTheCapacityThatDroppedSome) {
  const RoutingFile file = routing_file_from_json(
      R"({"capacity_factor": 1.25, "capacity_groups": 4,
          "layers": [{"layer": 1, "tokens": [[2, 1]], "asked": [[3, 1]]}]})",
      "r.json");
  EXPECT_EQ(file.capacity_factor, 1.25);
  EXPECT_EQ(file.capacity_groups, 4);
  EXPECT_FALSE(file.any_total);
  EXPECT_EQ(file.routing.layers.at(0).asked.at(0).at(0), 3);
  EXPECT_THAT(refusal_of(R"({"capacity_factor": 0, "layers": []})"),
              HasSubstr("expected a capacity factor above 0"));
  EXPECT_THAT(refusal_of(R"({"layers": [{"layer": 1, "tokens": [[2, 1]], "asked": [[1, 1]]}]})"),
              HasSubstr("rank 0 asked expert 0 for 1 copies: expected at least the 2 of tokens"));
}

TEST(RoutingFile, CountsOfAnyTotalAreAListForEachLayerOrNamed) {
  const RoutingFile list = routing_file_from_json("[[1, 2], [0, 900000000000]]", "r.json");
  EXPECT_EQ(refusal_of("[[1, 2], [0, 1000000000001]]").substr(0, 6), "r.json");
  EXPECT_TRUE(list.any_total && list.by_place);
  EXPECT_EQ(list.routing.layers.at(1).tokens.at(0).at(1), 900000000000);
  const RoutingFile named =
      routing_file_from_json(R"({"layers": [{"layer": 7, "counts": [[1, 2]]}]})", "r.json");
  EXPECT_TRUE(named.any_total && !named.by_place);
  EXPECT_EQ(named.routing.layers.at(0).layer, 7);
  EXPECT_THAT(refusal_of(R"({"layers": [{"layer": 7, "counts": [[1, 2]]},
                                        {"layer": 8, "tokens": [[1, 2]]}]})"),
              HasSubstr("expected \"counts\" in all layers, or \"tokens\" in all"));
  EXPECT_THAT(refusal_of("[[1, 2], [1]]"), HasSubstr("as many experts as in the first row, 2"));
}

TEST(RoutingFile, CountsNeedNotBeWholeNumbers) {
  const RoutingFile floats = routing_file_from_json("[[1.0, 2.0], [0, 3e2]]", "r.json");
  EXPECT_TRUE(floats.whole);
  EXPECT_EQ(floats.routing.layers.at(1).tokens.at(0).at(1), 300);
  const RoutingFile means = routing_file_from_json(
      R"({"layers": [{"layer": 1, "counts": [[0.25, 0.5], [0.25, 1]]},
                     {"layer": 1, "micro_batch": 1, "counts": [[1, 0], [0, 0]]}]})",
      "r.json");
  EXPECT_FALSE(means.whole);
  EXPECT_EQ(means.routing.layers.at(0).tokens,
            (std::vector<std::vector<std::int64_t>>{{125'000'000'000, 250'000'000'000},
                                                    {125'000'000'000, 500'000'000'000}}));
  EXPECT_EQ(means.routing.layers.at(1).tokens.at(0).at(0), 500'000'000'000) << "as in the file";
  EXPECT_THAT(refusal_of("[[1.5, -2]]"), HasSubstr("expected a count from 0 to 1e12, got -2"));
  EXPECT_THAT(refusal_of(R"({"layers": [{"layer": 1, "tokens": [[1.0, 2]]}]})"),
              HasSubstr("expected an integer"))
      << "copies are exact";
}

TEST(RoutingFile, OfCountsIsNoRoutingOfCopies) {
  for (const char* counts : {"[[1, 2]]", R"({"layers": [{"layer": 7, "counts": [[1, 2]]}]})"}) {
    EXPECT_THROW(routing_from_json(counts), InputError) << counts;
  }
}

TEST(RoutingFile, MicroBatchesOfALayerHaveTheSameRanksAndExperts) {
  EXPECT_THAT(refusal_of(R"({"layers": [{"layer": 1, "tokens": [[1, 2]]},
                {"layer": 1, "micro_batch": 1, "tokens": [[1, 2], [3, 4]]}]})"),
              HasSubstr("2 ranks of 2 experts: expected 1 of 2, as in another micro-batch"));
}

}  // namespace
}  // namespace moe::routing_file_test
