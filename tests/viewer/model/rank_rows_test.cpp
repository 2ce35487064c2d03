#include "viewer/model/rank_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/viewer/lanes.h"

namespace viewer::rank_rows_test {
namespace {

using Intervals = std::vector<std::pair<int, int>>;

Timeline of_ranks(int ranks) {
  std::vector<HandSpan> spans;
  for (int rank = 0; rank < ranks; ++rank) spans.push_back({rank, "compute", "linear", 0, 1});
  return hand_timeline(spans);
}

// "3" for the lanes of rank 3, "[1: 4 5]" for the band of node 1 with ranks 4 and 5.
std::string text_of(const Timeline& timeline, const RankRows& rows) {
  std::string text;
  for (const RankRow& row : rows.rows) {
    if (!text.empty()) text += " ";
    if (!row.is_node) {
      text += std::to_string(timeline.ledgers[row.place].rank) + (row.pinned ? "*" : "");
      continue;
    }
    text += "[" + std::to_string(rows.nodes[row.place].node) + ":";
    for (const std::size_t place : rows.nodes[row.place].ledgers) {
      text += " " + std::to_string(timeline.ledgers[place].rank);
    }
    text += "]";
  }
  return text;
}

TEST(RankRows, AListOfRanksIsNumbersAndIntervals) {
  EXPECT_EQ(parse_ranks("0-7,64"), (Intervals{{0, 7}, {64, 64}}));
  EXPECT_EQ(parse_ranks(" 3 , 5 - 6 "), (Intervals{{3, 3}, {5, 6}}));
  EXPECT_EQ(parse_ranks(""), Intervals{});
  for (const char* wrong : {"x", "1,", ",1", "5-2", "1-", "-1", "1 2x", "99999999999", "1,,2"}) {
    EXPECT_FALSE(parse_ranks(wrong)) << wrong;
  }
}

TEST(RankRows, OnlyTheRanksOfTheListAreShownAndPinnedOnesAlways) {
  const Timeline timeline = of_ranks(8);
  RankChoice choice;
  choice.ranks = "1-2,6";
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, {}, choice, {})), "1 2 6");
  choice.pinned = {2, 7};
  const RankRows rows = rank_rows(timeline, {}, choice, {});
  EXPECT_EQ(text_of(timeline, rows), "2* 7* 1 6");
  EXPECT_EQ(rows.ledgers, (std::vector<std::size_t>{2, 7, 1, 6}));
  choice.ranks = "no list";
  EXPECT_EQ(rank_rows(timeline, {}, choice, {}).ledgers.size(), 8U) << "all, until it is a list";
}

TEST(RankRows, TheLargestFigureComesFirstAndEqualsByNumber) {
  const Timeline timeline = of_ranks(4);
  const std::vector<double> figures = {1, 3, 3, 7};
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, {}, {}, figures)), "3 1 2 0");
}

TEST(RankRows, NodesHaveABandAndOpenedOnesTheLanesOfTheirRanks) {
  const Timeline timeline = of_ranks(6);
  const std::map<int, int> nodes = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {5, 2}};
  RankChoice choice;
  choice.by_node = true;
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, nodes, choice, {})),
            "[0: 0 1] [1: 2 3] [2: 4 5]");
  choice.opened = {1};
  choice.pinned = {2};
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, nodes, choice, {})),
            "2* [0: 0 1] [1: 2 3] 3 [2: 4 5]");
  const std::vector<double> figures = {1, 0, 0, 5, 2, 2};  // of nodes: 0.5, 2.5, 2
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, nodes, choice, figures)),
            "2* [1: 3 2] 3 [2: 4 5] [0: 0 1]");
}

TEST(RankRows, WithoutNodesEightRanksAreOne) {
  const Timeline timeline = of_ranks(10);
  RankChoice choice;
  choice.by_node = true;
  EXPECT_EQ(text_of(timeline, rank_rows(timeline, {}, choice, {})),
            "[0: 0 1 2 3 4 5 6 7] [1: 8 9]");
}

TEST(RankRows, RanksInWords) {
  EXPECT_EQ(ranks_text(std::vector<int>{8, 9, 10}), "8-10");
  EXPECT_EQ(ranks_text(std::vector<int>{5, 1, 2}), "1-2, 5");
  EXPECT_EQ(ranks_text(std::vector<int>{}), "");
}

}  // namespace
}  // namespace viewer::rank_rows_test
