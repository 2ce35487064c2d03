#include "moe/communicator/same_inputs.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/node_name.h"

namespace moe::same_inputs_test {
namespace {

/// What every rank of `ranks` is told; "" where they agree. `mine`: the facts of a rank.
std::vector<std::string> told(int ranks,
                              const std::function<std::vector<InputFact>(int rank)>& mine) {
  std::vector<std::string> all(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](Communicator& world) {
    try {
      expect_same_inputs(world, mine(world.rank), "n9, where the job was started", 60);
    } catch (const Disagreement& error) {
      all[static_cast<std::size_t>(world.rank)] = error.what();
    }
  });
  return all;
}

TEST(SameInputs, AreNotRefused) {
  const auto all = told(3, [](int) -> std::vector<InputFact> {
    return {{"--steps", "7"}, {"training.seed", "1", "1"}};
  });
  EXPECT_THAT(all, testing::ElementsAre("", "", ""));
}

TEST(SameInputs, EveryRankIsToldKeyValuesHostsAndRanks) {
  const auto all = told(3, [](int rank) -> std::vector<InputFact> {
    return {{"--steps", rank == 2 ? "8" : "7"}};
  });
  const std::string node = node_name();
  const std::string text = "the ranks do not agree: --steps is 7 on rank 0 (" + node +
                           ") and 8 on rank 2 (" + node + ")";
  EXPECT_THAT(all, testing::Each(text));
}

TEST(SameInputs, AFactMaySayWhatToDo) {
  const auto all = told(2, [](int rank) -> std::vector<InputFact> {
    return {{"the last checkpoint", rank == 0 ? "3" : "6", std::nullopt, "begin again"}};
  });
  const std::string node = node_name();
  EXPECT_THAT(all, testing::Each("the ranks do not agree: the last checkpoint is 3 on rank 0 (" +
                                 node + ") and 6 on rank 1 (" + node + "): begin again"));
}

TEST(SameInputs, WhatAProcessHasReadForAllIsComparedWithItAlsoOnRank0) {
  const auto all = told(2, [](int rank) -> std::vector<InputFact> {
    if (rank == 1) return {};
    return {{"training.learning_rate", "0.5", "0.001"}};
  });
  EXPECT_THAT(all, testing::Each(testing::StartsWith(
                       "the ranks do not agree: training.learning_rate is 0.001 on n9, where the "
                       "job was started and 0.5 on rank 0 (")));
}

TEST(SameInputs, AFactThatOnlyOneOfTwoRanksHasIsNoneToTheOther) {
  const auto one = told(2, [](int rank) -> std::vector<InputFact> {
    if (rank == 0) return {};
    return {{"text 2 of --data", "9 tokens"}};
  });
  EXPECT_THAT(one.front(), testing::HasSubstr("text 2 of --data is none on rank 0"));
  const auto other = told(2, [](int rank) -> std::vector<InputFact> {
    if (rank == 1) return {};
    return {{"text 2 of --data", "9 tokens"}};
  });
  EXPECT_THAT(other.front(), testing::HasSubstr("and none on rank 1"));
}

TEST(SameInputs, NoMoreThanThreeDifferencesAreListed) {
  const auto all = told(2, [](int rank) {
    std::vector<InputFact> facts;
    for (const char* key : {"a", "b", "c", "d", "e"}) facts.push_back({key, std::to_string(rank)});
    return facts;
  });
  EXPECT_THAT(all.front(), testing::EndsWith("; and 2 more"));
  EXPECT_THAT(all.front(), testing::Not(testing::HasSubstr("d is")));
}

}  // namespace
}  // namespace moe::same_inputs_test
