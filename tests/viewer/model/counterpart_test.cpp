#include "viewer/model/counterpart.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"
#include "tests/viewer/synthetic_timeline.h"

namespace viewer::counterpart_test {
namespace {

struct Piece {
  std::string name;
  int chunk = 0;
  int chunks = 1;
  double start_s = 0;
  double duration_s = 0;
  int rank = 0;
};

Timeline of_pieces(const std::vector<Piece>& pieces) {
  std::vector<db::TimelineOp> ops;
  std::vector<db::Span> spans;
  for (const Piece& piece : pieces) {
    db::TimelineOp op;
    op.op = static_cast<int>(ops.size());
    op.name = op.kind = piece.name;
    op.activity = "computation";
    op.stream = "compute";
    op.phase = "forward";
    op.chunk = piece.chunk;
    op.chunks = piece.chunks;
    spans.push_back({0, piece.rank, op.op, piece.start_s, piece.duration_s, 0, 0});
    ops.push_back(op);
  }
  return build_timeline({}, ops, spans);
}

const Timeline kWhole = of_pieces({{"expert", 0, 1, 0, 4}, {"gelu", 0, 1, 4, 1}});
const Timeline kSplit = of_pieces({{"expert", 0, 2, 0, 2.5},
                                   {"gelu", 0, 2, 2.5, 0.5},
                                   {"expert", 1, 2, 3, 2},
                                   {"gelu", 1, 2, 5, 0.5}});

TEST(Counterpart, OfAnOpInOnePieceIsTheSumOfItsChunks) {
  const std::optional<WholeOp> split = counterpart(kWhole, {0, 0}, kSplit);
  ASSERT_TRUE(split);
  EXPECT_DOUBLE_EQ(split->duration_s, 4.5);
  EXPECT_EQ(split->spans, (std::vector<SpanPosition>{{0, 0}, {0, 2}}));
}

TEST(Counterpart, OfAnyChunkIsTheWholeOp) {
  for (const std::size_t span : {0U, 2U}) {
    EXPECT_DOUBLE_EQ(counterpart(kSplit, {0, span}, kWhole).value().duration_s, 4);
    EXPECT_DOUBLE_EQ(whole_op(kSplit, {0, span}).duration_s, 4.5);
  }
}

TEST(Counterpart, OpsOfOneNameAreToldApartByTheirOrder) {
  const Timeline twice = of_pieces({{"add", 0, 1, 0, 1}, {"add", 0, 1, 5, 2}});
  const Timeline split =
      of_pieces({{"add", 0, 1, 0, 1.5}, {"add", 0, 2, 5, 1}, {"add", 1, 2, 6, 1.25}});
  EXPECT_DOUBLE_EQ(counterpart(twice, {0, 0}, split).value().duration_s, 1.5);
  EXPECT_DOUBLE_EQ(counterpart(twice, {0, 1}, split).value().duration_s, 2.25);
  EXPECT_DOUBLE_EQ(counterpart(split, {0, 2}, twice).value().duration_s, 2);
}

TEST(Counterpart, IsOfTheSameRank) {
  const Timeline ranks = of_pieces({{"expert", 0, 1, 0, 7, 1}, {"expert", 0, 1, 0, 3, 0}});
  EXPECT_DOUBLE_EQ(counterpart(kWhole, {0, 0}, ranks).value().duration_s, 3);
}

TEST(Counterpart, AnOpThatTheOtherScheduleDoesNotHaveHasNone) {
  EXPECT_FALSE(counterpart(kWhole, {0, 0}, of_pieces({{"linear", 0, 1, 0, 1}})));
}

TEST(Counterpart, ATimelineOfTheSameOpsHasOneForEverySpan) {
  StepShape shape;
  shape.forward_chunks = 3;
  const SyntheticStep predicted = make_step(shape);
  shape.jitter = 0.1;
  const SyntheticStep measured = make_step(shape);
  const Timeline a = build_timeline({}, measured.ops, measured.spans);
  const Timeline b = build_timeline({}, predicted.ops, predicted.spans);
  for (std::size_t lane = 0; lane < a.lanes.size(); ++lane) {
    for (std::size_t span = 0; span < a.lanes[lane].spans.size(); ++span) {
      const db::TimelineOp& op = a.ops[static_cast<std::size_t>(a.lanes[lane].spans[span].op)];
      const std::optional<WholeOp> other = counterpart(a, {lane, span}, b);
      ASSERT_TRUE(other);
      ASSERT_EQ(other->spans.size(), static_cast<std::size_t>(op.chunks));
      const SpanPosition at = other->spans[static_cast<std::size_t>(op.chunk)];
      EXPECT_EQ(b.lanes[at.lane].rank, a.lanes[lane].rank);
      EXPECT_EQ(b.lanes[at.lane].spans[at.span].op, a.lanes[lane].spans[span].op);
    }
  }
}

}  // namespace
}  // namespace viewer::counterpart_test
