#include "moe/program/timeline_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/timeline/critical_path.h"
#include "db/timeline/summary.h"
#include "moe/model/iteration.h"
#include "moe/program/start_rule.h"
#include "tests/moe/train/training_case.h"

namespace moe::timeline_rows_test {
namespace {

using test::chunked;
using test::small_model;

Routing uniform(const Model& model, int ranks) {
  Routing routing;
  for (int block = model.moe_every - 1; block < model.blocks; block += model.moe_every) {
    routing.layers.push_back(
        uniform_routing(block, ranks, model.experts,
                        model.global_batch / ranks * model.sequence_length * model.choices));
  }
  return routing;
}

struct Case {
  Groups groups = make_groups(4, 2);  // two expert groups of two ranks
  Program program;
  Timeline timeline;
  TimelineRows rows;

  Case() {
    const Model model = small_model(DType::f32);
    program = apply(build_iteration(model, groups, 0), chunked(model, 3, 2));
    // Rank r begins op i at i + r / 10 and takes a second: every communication waits for the
    // highest rank of its group.
    for (int rank = 0; rank < groups.ranks; ++rank) {
      std::vector<OpSpan>& spans = timeline.ranks.emplace_back();
      for (std::size_t op = 0; op < program.ops.size(); ++op) {
        spans.push_back({static_cast<int>(op), static_cast<double>(op) + 0.1 * rank, 1});
      }
    }
    timeline.duration_s = static_cast<double>(program.ops.size()) + 1;
    rows = timeline_rows(program, timeline, uniform(model, groups.ranks), groups);
  }
};

TEST(TimelineRows, EveryEdgeIsOneThatOpsWaitFor) {
  const Case c;
  const auto waits = waits_for(c.program);
  ASSERT_FALSE(c.rows.edges.empty());
  std::set<std::pair<int, Stream>> seen;
  for (const db::OpEdge& edge : c.rows.edges) {
    const auto& of = waits[static_cast<std::size_t>(edge.op)];
    EXPECT_NE(std::find(of.begin(), of.end(), edge.before), of.end());
    const Stream stream = c.program.ops[static_cast<std::size_t>(edge.before)].stream;
    EXPECT_TRUE(seen.insert({edge.op, stream}).second) << "only the last of a stream";
  }
  // Whatever is left out ends before an op of its stream that is kept.
  for (std::size_t op = 0; op < waits.size(); ++op) {
    for (const int before : waits[op]) {
      const bool covered =
          std::any_of(c.rows.edges.begin(), c.rows.edges.end(), [&](const db::OpEdge& edge) {
            return edge.op == static_cast<int>(op) && edge.before >= before &&
                   c.program.ops[static_cast<std::size_t>(edge.before)].stream ==
                       c.program.ops[static_cast<std::size_t>(before)].stream;
          });
      EXPECT_TRUE(covered) << op << " waits for " << before;
    }
  }
}

TEST(TimelineRows, CommunicationsWaitForTheLastRankOfTheirGroup) {
  const Case c;
  std::map<std::pair<std::string, int>, int> first_rank;
  for (const db::RankGroup& group : c.rows.groups) {
    first_rank[{group.kind, group.rank}] = group.first_rank;
  }
  for (const db::Span& span : c.rows.spans) {
    const Op& op = c.program.ops[static_cast<std::size_t>(span.op)];
    const std::optional<GroupKind> kind = group_of(op);
    const std::string& stored = c.rows.ops[static_cast<std::size_t>(span.op)].group_kind;
    if (!kind) {
      EXPECT_EQ(stored, "");
      EXPECT_FALSE(span.waiting_s) << op.name;
      continue;
    }
    const std::vector<int> ranks = members(c.groups, *kind, span.rank);
    EXPECT_EQ(stored, group_name(*kind));
    EXPECT_EQ(first_rank.at({stored, span.rank}), ranks.front());
    ASSERT_TRUE(span.waiting_s) << op.name;
    EXPECT_NEAR(*span.waiting_s, 0.1 * (ranks.back() - span.rank), 1e-9) << op.name;
  }
}

TEST(AskedTimeline, ARankThatStandsForOthersGivesTheFiguresOfAll) {
  const Case c;
  Timeline all = c.timeline, folded = c.timeline;
  all.ranks[2] = all.ranks[0];
  all.ranks[3] = all.ranks[1];
  folded.ranks.resize(2);
  folded.like = {0, 1, 0, 1};
  const db::Timeline single = asked_timeline(c.program, all, c.groups);
  const db::Timeline few = asked_timeline(c.program, folded, c.groups);
  EXPECT_EQ(single.ledgers.size(), 4U);
  EXPECT_EQ(few.ledgers.size(), 2U);
  const db::RankStatistics expected = db::summarize(single, single.extent).mean;
  const db::RankStatistics given = db::summarize(few, few.extent).mean;
  EXPECT_GT(expected.exposed_waiting_s, 0);
  for (double db::RankStatistics::*figure : db::kRankFigures) {
    EXPECT_NEAR(given.*figure, expected.*figure, 1e-9);
  }
  const auto names = [](const db::Timeline& timeline) {
    std::vector<std::pair<std::string, double>> steps;
    for (const db::PathStep& step : db::critical_path(timeline, db::index_spans(timeline))) {
      steps.emplace_back(db::op_at(timeline, step.at).name, step.seconds);
    }
    return steps;
  };
  EXPECT_FALSE(names(few).empty());
  EXPECT_EQ(names(few), names(single));
}

}  // namespace
}  // namespace moe::timeline_rows_test
