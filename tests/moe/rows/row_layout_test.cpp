#include "moe/rows/row_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "moe/program/row_handling.h"
#include "tests/moe/rows/random_placement.h"

namespace moe::row_layout_test {
namespace {

using ::testing::ElementsAre;

LayerRouting random_routing(std::mt19937& random, int ranks, int experts) {
  LayerRouting routing{1, experts, {}};
  for (int r = 0; r < ranks; ++r) {
    routing.tokens.emplace_back();
    for (int e = 0; e < experts; ++e) {
      routing.tokens.back().push_back(random() % 4 == 0 ? 0 : random() % 23);
    }
  }
  return routing;
}

/// The cuts that a forward pass in `f` and a backward pass in `b` slices make.
std::vector<Slice> cuts_of(int f, int b) {
  Program program;
  program.tensors.push_back({"rows", DType::f32, Role::activation, Rows::received, 0, 1, 1});
  for (const int count : {f, b}) {
    for (int i = 0; i < count; ++i) {
      Op op;
      op.kind = Gelu{};
      op.layer = 1;
      op.writes = {{0, {i, count}}};
      program.ops.push_back(op);
    }
  }
  return slice_cuts(program).at(1);
}

TEST(SliceCuts, AreTheBoundariesOfBothDegreesInOrder) {
  const std::vector<Slice> expected{{0, 1}, {1, 3}, {1, 2}, {2, 3}, {1, 1}};
  EXPECT_EQ(cuts_of(2, 3), expected);
  EXPECT_EQ(cuts_of(1, 1), (std::vector<Slice>{{0, 1}, {1, 1}}));
  EXPECT_EQ(cuts_of(2, 4).size(), 5u) << "the half is one boundary";
}

TEST(RowLayout, OfOneRankByHand) {
  const LayerRouting routing{1, 2, {{5, 3}}};
  const RowLayout layout = make_row_layout(routing, make_groups(1, 1), 0, cuts_of(2, 1));
  EXPECT_EQ(sent_rows(layout), 8);
  EXPECT_EQ(layout.sent_offset, (std::vector<std::int64_t>{0, 5, 8}));
  EXPECT_EQ(sent_rows(layout, {0, 2}), 3) << "2 of 5 and 1 of 3";
  const auto rows = expert_rows(layout, {1, 2});
  EXPECT_EQ(rows[0].begin, 2);
  EXPECT_EQ(rows[0].rows, 3);
  EXPECT_EQ(rows[1].begin, 6);
  EXPECT_EQ(rows[1].rows, 2);
}

TEST(RowLayout, SentRangesJoinWhatAdjoins) {
  const LayerRouting routing{1, 4, {{5, 0, 3, 1}}};
  const RowLayout layout = make_row_layout(routing, make_groups(1, 1), 0, cuts_of(2, 1));
  const auto ranges = [&](Slice slice) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (const RowRange& range : sent_ranges(layout, slice)) {
      pairs.emplace_back(range.begin, range.rows);
    }
    return pairs;
  };
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(ranges({0, 1}), (Pairs{{0, 9}}));
  EXPECT_EQ(ranges({0, 2}), (Pairs{{0, 2}, {5, 1}})) << "2 of 5, 1 of 3, 0 of 1";
  EXPECT_EQ(ranges({1, 2}), (Pairs{{2, 3}, {6, 3}})) << "the last two experts adjoin";
}

TEST(RowLayout, KeepsOnlyTheCountsOfItsRank) {
  std::mt19937 random(1);
  const LayerRouting routing = random_routing(random, 8, 12);
  const RowLayout layout = make_row_layout(routing, make_groups(8, 4), 6, cuts_of(1, 1));
  EXPECT_EQ(layout.sent, routing.tokens[6]);
  ASSERT_EQ(layout.received.size(), 4u);  // of the 8 ranks
  for (int source = 0; source < 4; ++source) {
    const auto& tokens = routing.tokens[4 + source];
    // Rank 6 is the third of its group and has the third of four shares of 12 experts.
    EXPECT_THAT(layout.received[source], ElementsAre(tokens[6], tokens[7], tokens[8]));
  }
}

/// RowLayout::ranks_per_group of so many members: 0 about every other time.
int random_group_size(std::mt19937& random, int members) {
  const std::vector<int> sizes = divisors(members);
  return random() % 2 ? 0 : sizes[random() % sizes.size()];
}

TEST(RowLayout, WhatIsSentArrivesAtItsExpertInOneRangePerSlice) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const int expert_ranks = 1 + static_cast<int>(random() % 4);
    const int ranks = expert_ranks * (1 + static_cast<int>(random() % 2));
    const int experts = expert_ranks * (1 + static_cast<int>(random() % 3)) +
                        static_cast<int>(random() % static_cast<unsigned>(expert_ranks));
    const int f = 1 + static_cast<int>(random() % 4), b = 1 + static_cast<int>(random() % 4);
    const Groups groups = make_groups(ranks, expert_ranks);
    const LayerRouting routing = random_routing(random, ranks, experts);
    const ExpertPlacement placement =
        round % 2 && expert_ranks > 1
            ? test::random_replicas_and_homes(random, experts, expert_ranks)
            : ExpertPlacement{};
    const int ranks_per_group = random_group_size(random, expert_ranks);
    std::vector<RowLayout> layouts;
    for (int r = 0; r < ranks; ++r) {
      layouts.push_back(
          make_row_layout(routing, groups, r, cuts_of(f, b), {}, placement, ranks_per_group));
    }

    // A row is known by where it comes from and which row it was there.
    using Row = std::pair<int, std::int64_t>;
    for (const int degree : {f, b}) {
      std::vector<std::map<std::int64_t, Row>> arrived(ranks);
      for (int c = 0; c < degree; ++c) {
        for (int to = 0; to < ranks; ++to) {
          const auto group = members(groups, GroupKind::expert, to);
          std::vector<std::vector<Segment>> incoming(group.size());
          for (std::size_t from = 0; from < group.size(); ++from) {
            for (const Segment& segment : sent_segments(layouts[group[from]], {c, degree})) {
              if (group[segment.peer] == to) incoming[from].push_back(segment);
            }
          }
          std::vector<std::size_t> next(group.size());
          for (const Segment& target : received_segments(layouts[to], {c, degree})) {
            const Segment& source = incoming[target.peer].at(next[target.peer]++);
            ASSERT_EQ(source.rows, target.rows);
            for (std::int64_t i = 0; i < target.rows; ++i) {
              ASSERT_TRUE(arrived[to]
                              .emplace(target.begin + i, Row{group[target.peer], source.begin + i})
                              .second)
                  << "two rows at one place";
            }
          }
          for (std::size_t from = 0; from < group.size(); ++from) {
            ASSERT_EQ(next[from], incoming[from].size()) << "a segment nobody receives";
          }
        }
      }
      for (int r = 0; r < ranks; ++r) {
        ASSERT_EQ(static_cast<std::int64_t>(arrived[r].size()), received_rows(layouts[r]));
        std::set<Row> distinct;
        for (const auto& [place, row] : arrived[r]) distinct.insert(row);
        ASSERT_EQ(distinct.size(), arrived[r].size()) << "a row that was sent twice";
        for (int c = 0; c < degree; ++c) {
          const auto ranges = expert_rows(layouts[r], {c, degree});
          for (int d = 0; d < slot_count(layouts[r].slots); ++d) {
            const int expert = expert_in(layouts[r].slots, layouts[r].self, d);
            ASSERT_TRUE(expert >= 0 || ranges[d].rows == 0);
            for (std::int64_t i = ranges[d].begin; i < ranges[d].begin + ranges[d].rows; ++i) {
              const auto& [source, row] = arrived[r].at(i);
              EXPECT_GE(row, layouts[source].sent_offset[expert]);
              EXPECT_LT(row, layouts[source].sent_offset[expert + 1]);
            }
          }
        }
      }
    }
  }
}

TEST(RowLayout, AStepHoldsTheRowsThatEveryGroupSendsToTheOneSoManyAfterIt) {
  // 4 ranks with an expert each, in groups of 2. Rank 1 sends 1 row to the first of its own group,
  // and so on.
  const LayerRouting routing{1, 4, {{5, 6, 7, 8}, {1, 2, 3, 4}, {9, 9, 9, 9}, {0, 4, 0, 0}}};
  const auto layout = [&](int rank) {
    return make_row_layout(routing, make_groups(4, 4), rank, cuts_of(2, 4), {}, {}, 2);
  };
  EXPECT_EQ(sent_rows(layout(1), {0, 2}), 1 + 2);
  EXPECT_EQ(sent_rows(layout(1), {1, 2}), 3 + 4);
  EXPECT_EQ(sent_rows(layout(2), {0, 2}), 9 + 9) << "to ranks 2 and 3";
  EXPECT_EQ(received_rows(layout(1), {0, 2}), 6 + 2) << "from ranks 0 and 1";
  EXPECT_EQ(received_rows(layout(1), {1, 2}), 9 + 4);
  EXPECT_EQ(expert_rows(layout(1), {1, 2})[0].begin, 8);
  EXPECT_EQ(received_rows(layout(1), {2, 4}), 4 + 2) << "half of every pair's in that step";
  const auto sent = sent_ranges(layout(1), {1, 2});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].begin, 3);
  EXPECT_THROW(make_row_layout(routing, make_groups(4, 4), 0, cuts_of(1, 1), {}, {}, 3),
               std::invalid_argument);
}

TEST(RowLayout, RowsOfAReplicatedExpertStayWhereItsReplicaIs) {
  // 4 experts of 2 ranks; rank 0 computes expert 2 as well.
  const LayerRouting routing{1, 4, {{5, 1, 7, 2}, {4, 3, 6, 8}}};
  const auto layout = [&](int rank) {
    return make_row_layout(routing, make_groups(2, 2), rank, cuts_of(2, 1), {}, {{{2, {0}}}});
  };
  const RowLayout first = layout(0), second = layout(1);
  EXPECT_EQ(first.received.columns, 3u);
  EXPECT_THAT(first.received.counts, ElementsAre(5, 1, 7, 4, 3, 0));
  EXPECT_THAT(second.received.counts, ElementsAre(0, 2, 0, 6, 8, 0));
  EXPECT_EQ(received_rows(first), 20);
  const auto rows = expert_rows(first, {1, 2});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].begin, 13 + 3);
  EXPECT_EQ(rows[2].rows, 4);
  std::int64_t travels = 0;
  for (const Segment& segment : sent_segments(first, {})) {
    if (segment.peer == 1) travels += segment.rows;
  }
  EXPECT_EQ(travels, 2) << "the rows for expert 3";
}

TEST(RowLayout, SharingRanksGatherEachRowOnceAndGetTheirOwnBack) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const Layout layout{1 + static_cast<int>(random() % 2), 1 + static_cast<int>(random() % 3),
                        1 + static_cast<int>(random() % 3)};
    const Groups groups = make_groups(layout);
    const int local = 1 + static_cast<int>(random() % 3),
              degree = 1 + static_cast<int>(random() % 4);
    const int experts =
        layout.expert * local + static_cast<int>(random() % static_cast<unsigned>(layout.expert));
    const LayerRouting routing = random_routing(random, groups.ranks, experts);
    const ExpertPlacement placement =
        round % 2 && layout.expert > 1
            ? test::random_replicas_and_homes(random, experts, layout.expert)
            : ExpertPlacement{};
    const int ranks_per_group = random_group_size(random, layout.expert);
    std::vector<RowLayout> layouts;
    for (int r = 0; r < groups.ranks; ++r) {
      layouts.push_back(
          make_row_layout(routing, groups, r, cuts_of(degree, 1), {}, placement, ranks_per_group));
    }
    const auto sharing = members(groups, GroupKind::expert_sharded, 0);

    using Row = std::pair<int, std::int64_t>;  // the sharing rank, and its received row
    std::vector<std::map<std::int64_t, Row>> gathered(sharing.size());
    for (int c = 0; c < degree; ++c) {
      const Slice slice{c, degree};
      for (std::size_t to = 0; to < sharing.size(); ++to) {
        std::vector<std::vector<Segment>> incoming(sharing.size());
        for (std::size_t from = 0; from < sharing.size(); ++from) {
          for (const Segment& segment : shared_segments(layouts[sharing[from]], slice)) {
            if (segment.peer == static_cast<int>(to)) incoming[from].push_back(segment);
          }
        }
        std::vector<std::size_t> next(sharing.size());
        for (const Segment& target : gathered_segments(layouts[sharing[to]], slice)) {
          const Segment& source = incoming[target.peer].at(next[target.peer]++);
          ASSERT_EQ(source.rows, target.rows);
          for (std::int64_t i = 0; i < target.rows; ++i) {
            ASSERT_TRUE(
                gathered[to].emplace(target.begin + i, Row{target.peer, source.begin + i}).second)
                << "two rows at one place";
          }
        }
      }
    }
    for (std::size_t r = 0; r < sharing.size(); ++r) {
      const RowLayout& mine = layouts[sharing[r]];
      ASSERT_EQ(static_cast<std::int64_t>(gathered[r].size()), gathered_rows(mine));
      std::set<Row> distinct;
      for (const auto& [place, row] : gathered[r]) distinct.insert(row);
      ASSERT_EQ(distinct.size(), gathered[r].size()) << "a row that was gathered twice";
      // A row lies among those of its expert, in its slice.
      for (int c = 0; c < degree; ++c) {
        const auto here = gathered_expert_rows(mine, {c, degree});
        for (int d = 0; d < slot_count(mine.slots); ++d) {
          for (std::int64_t i = here[d].begin; i < here[d].begin + here[d].rows; ++i) {
            const auto& [member, row] = gathered[r].at(i);
            const RowRange there = expert_rows(layouts[sharing[member]], {c, degree})[d];
            EXPECT_GE(row, there.begin);
            EXPECT_LT(row, there.begin + there.rows);
          }
        }
      }
      // The rows that every rank scatters back from there arrive in a block of their own.
      for (int c = 0; c < degree; ++c) {
        const Slice slice{c, degree};
        std::vector<std::size_t> next(sharing.size());
        for (const Segment& target : scattered_segments(mine, slice)) {
          std::vector<Segment> from;
          for (const Segment& segment : gathered_segments(layouts[sharing[target.peer]], slice)) {
            if (segment.peer == static_cast<int>(r)) from.push_back(segment);
          }
          const Segment& source = from.at(next[target.peer]++);
          ASSERT_EQ(source.rows, target.rows);
          for (std::int64_t i = 0; i < target.rows; ++i) {
            EXPECT_EQ(
                gathered[target.peer].at(source.begin + i),
                (Row{static_cast<int>(r), target.begin + i - target.peer * received_rows(mine)}));
          }
        }
      }
    }
  }
}

TEST(RowLayout, RefusesASliceThatNoOpAnnounced) {
  const LayerRouting routing{1, 2, {{5, 3}}};
  const RowLayout layout = make_row_layout(routing, make_groups(1, 1), 0, cuts_of(2, 1));
  EXPECT_THROW(expert_rows(layout, {1, 3}), std::logic_error);
}

TEST(RowLayout, RefusesRoutingOfOtherRanks) {
  const LayerRouting routing{1, 2, {{5, 3}}};
  EXPECT_THROW(make_row_layout(routing, make_groups(2, 2), 0, cuts_of(1, 1)),
               std::invalid_argument);
}

}  // namespace
}  // namespace moe::row_layout_test
