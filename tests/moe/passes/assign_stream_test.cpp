#include "moe/passes/assign_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/pipeline_split.h"
#include "moe/passes/restore_activation.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::assign_stream_test {
namespace {

Program iteration() { return build_iteration(test::small_model(DType::f32), make_groups(4, 4), 0); }

TEST(AssignStream, MovesEveryOpOfItsKindAndNoOther) {
  const Program before = apply(iteration(), PipelineSplit{1, Phase::backward, 2});
  const Program after = apply(before, StreamAssignment{"all_to_all", Stream::intra_node});
  ASSERT_EQ(after.ops.size(), before.ops.size());
  int moved = 0;
  for (std::size_t i = 0; i < after.ops.size(); ++i) {
    const bool exchange = std::holds_alternative<AllToAll>(after.ops[i].kind);
    EXPECT_EQ(after.ops[i].stream, exchange ? Stream::intra_node : before.ops[i].stream);
    moved += exchange;
  }
  EXPECT_EQ(moved, 2 + 2 * 2) << "dispatch and return of forward, and of two chunks of backward";
}

TEST(AssignStream, MovesTheOpsOfOnePhaseWhereItIsNamed) {
  const Schedule schedule{"",
                          {StreamAssignment{"all_to_all", Stream::inter_node, Phase::backward},
                           StreamAssignment{"all_to_all", Stream::intra_node, Phase::forward}}};
  const Program after = apply(iteration(), schedule);
  int exchanges = 0;
  for (const Op& op : after.ops) {
    if (!std::holds_alternative<AllToAll>(op.kind)) continue;
    ++exchanges;
    EXPECT_EQ(op.stream, op.phase == Phase::forward ? Stream::intra_node : Stream::inter_node);
  }
  EXPECT_EQ(exchanges, 2 + 2);
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  // All of them, and those of one phase once more.
  EXPECT_THROW(
      apply(iteration(), {"",
                          {StreamAssignment{"all_to_all", Stream::intra_node},
                           StreamAssignment{"all_to_all", Stream::inter_node, Phase::backward}}}),
      Refusal);
}

TEST(AssignStream, TheSumOfSharesGoesWithTheScatterThatBringsThem) {
  const Program shared =
      build_iteration(test::small_model(DType::f32), make_groups(Layout{1, 2, 2}), 0);
  const auto on = [](const Program& program, Stream stream) {
    return std::count_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
      return std::holds_alternative<SumShares>(op.kind) && op.stream == stream;
    });
  };
  EXPECT_EQ(on(apply(shared, StreamAssignment{"gather_rows", Stream::intra_node}), Stream::compute),
            2);
  EXPECT_EQ(
      on(apply(shared, StreamAssignment{"scatter_rows", Stream::intra_node}), Stream::intra_node),
      2);
}

TEST(AssignStream, TakesCopiesToTheComputeStreamAndToNoOther) {
  const Program offloads =
      apply(iteration(), RestoreActivation{1, RestoreDispatched::offload, RestoreHidden::offload});
  const auto on = [](const Program& program, Stream stream) {
    return std::count_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
      return std::holds_alternative<OffloadRows>(op.kind) && op.stream == stream;
    });
  };
  const auto copies = on(offloads, Stream::copy);
  EXPECT_GT(copies, 0);
  const Program moved = apply(offloads, StreamAssignment{"offload_rows", Stream::compute});
  EXPECT_EQ(on(moved, Stream::compute), copies);
  try {
    apply(offloads, StreamAssignment{"offload_rows", Stream::inter_node});
    FAIL() << "accepted";
  } catch (const Refusal& error) {
    EXPECT_STREQ(error.what(),
                 "assign_stream: offload_rows on inter_node: copies run on copy or compute");
  }
}

TEST(AssignStream, RefusesToMoveAnOpTwice) {
  const Program there = apply(iteration(), StreamAssignment{"all_reduce", Stream::inter_node});
  try {
    apply(there, StreamAssignment{"all_reduce", Stream::intra_node});
    FAIL() << "accepted";
  } catch (const Refusal& error) {
    EXPECT_STREQ(error.what(),
                 "assign_stream: all_reduce on intra_node: it is on inter_node already: expected "
                 "one stream for a kind");
  }
}

TEST(AssignStream, RefusesAKindThatTheIterationDoesNotHave) {
  const auto refusal = [](const Model& model, int ranks, const char* kind) {
    try {
      apply(build_iteration(model, make_groups(ranks, ranks), 0),
            StreamAssignment{kind, Stream::inter_node});
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  Model model = test::small_model(DType::f32);
  EXPECT_EQ(refusal(model, 4, "pass_on"),
            "assign_stream: pass_on on inter_node: there is none in this iteration: expected one "
            "of all_reduce, all_to_all");
  EXPECT_EQ(refusal(model, 1, "all_reduce"),
            "assign_stream: all_reduce on inter_node: there is none in this iteration: expected "
            "one of all_to_all");
  model.moe_every = 0;
  EXPECT_EQ(refusal(model, 1, "all_to_all"),
            "assign_stream: all_to_all on inter_node: there is none in this iteration: expected "
            "a layout of several ranks");
  EXPECT_EQ(refusal(model, 4, "all_reduce"), "none");
}

TEST(AssignStream, RefusesStreamsThatAnOpCannotLeaveOrEnter) {
  const auto refusal = [](std::string kind, Stream stream) {
    try {
      apply(iteration(), StreamAssignment{std::move(kind), stream});
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(
      refusal("all_to_some", Stream::inter_node),
      "assign_stream: all_to_some on inter_node: no op is called that: expected one of all_reduce, "
      "all_to_all");
  EXPECT_EQ(refusal("linear", Stream::inter_node),
            "assign_stream: linear on inter_node: only communication may leave the compute stream: "
            "expected one of all_reduce, all_to_all");
  EXPECT_EQ(refusal("exchange_counts", Stream::inter_node),
            "assign_stream: exchange_counts on inter_node: the host reads what it exchanges: "
            "expected one of all_reduce, all_to_all");
  for (const auto& [stream, name] : {std::pair{Stream::copy, "copy"}, {Stream::host, "host"}}) {
    EXPECT_EQ(refusal("all_to_all", stream),
              "assign_stream: all_to_all on " + std::string(name) +
                  ": collectives run on compute, inter_node or intra_node");
  }
  EXPECT_EQ(refusal("all_reduce", Stream::intra_node), "none");
}

}  // namespace
}  // namespace moe::assign_stream_test
