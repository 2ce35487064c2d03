// head = "tied" with pipeline stages: the first and the last stage have a token table each.
#include <gtest/gtest.h>

#include <variant>

#include "moe/communicator/communicator.h"
#include "moe/model/iteration.h"
#include "moe/program/stage_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::tied_stages_test {
namespace {

Model tied(int blocks) {
  Model model = all_moe_model(DType::f64, blocks);
  model.head = Head::tied;
  model.heads = 4;
  model.micro_batches = 2;
  model.global_batch = 16;
  model.capacity_groups = 16;
  model.clip_norm = 0.5;
  return model;
}

TEST(TiedStages, TrainAsOneRankDoes) {
  Model model = tied(3);
  const Outcome reference = train_small(model, {}, 1, 3);
  for (const Layout layout : {Layout{1, 1, 1, 1, 2}, Layout{1, 1, 1, 1, 3}, Layout{1, 2, 1, 2, 2},
                              Layout{2, 2, 1, 1, 2}}) {
    for (const bool shards : {false, true}) {
      model.shard_vocabulary = shards;
      const Outcome outcome = train_small(model, {}, layout, 3);
      EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0]);
      EXPECT_NEAR(outcome.losses[2], reference.losses[2], 1e-9 * reference.losses[2]);
      EXPECT_NEAR(outcome.gradient_norms[0], reference.gradient_norms[0], 1e-11);
      EXPECT_LT(largest_difference(outcome, reference), 1e-11) << to_text(layout);
    }
  }
}

TEST(TiedStages, KeepBothTablesTheSameToTheLastBit) {
  Model model = tied(3);
  model.dtype = DType::f32;
  for (const bool shards_optimizer : {false, true}) {
    const Groups groups = make_groups(Layout{2, 2, 1, 1, 3}, {0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1});
    Schedule schedule;
    if (shards_optimizer) schedule.decisions.push_back(ShardOptimizer{});
    std::vector<std::vector<double>> tables(static_cast<std::size_t>(groups.ranks));
    run_local_ranks(groups.ranks, [&](Communicator& world) {
      const auto backend = make_cpu_backend(1);
      const RankOutcome outcome = train_rank(model, {schedule}, groups, 5, world, *backend);
      for (const TensorPart& part : outcome.state) {
        if (part.name == "token_table") tables[static_cast<std::size_t>(world.rank)] = part.values;
      }
    });
    ASSERT_FALSE(tables[0].empty());
    for (int rank = 0; rank < groups.ranks; ++rank) {
      const auto& table = tables[static_cast<std::size_t>(rank)];
      if (stage_of(groups, rank) == 1) {
        EXPECT_TRUE(table.empty()) << "a stage between them has none";
      } else {
        EXPECT_EQ(table, tables[0]) << "rank " << rank;
      }
    }
  }
}

TEST(TiedStages, AddTheirGradientsUpOnceAnIteration) {
  const Model model = tied(2);
  const Program program = build_iteration(model, make_groups(Layout{1, 2, 1, 1, 2}), 0);
  for (const StageProgram& stage : stage_programs(program)) {
    int found = 0;
    for (const Op& op : stage.program.ops) {
      if (!std::holds_alternative<ReduceTied>(op.kind)) continue;
      ++found;
      ASSERT_EQ(op.writes.size(), 1u);
      EXPECT_EQ(stage.program.tensors[static_cast<std::size_t>(op.writes[0].tensor)].name,
                "d_token_table");
    }
    EXPECT_EQ(found, 1);
  }
}

}  // namespace
}  // namespace moe::test::tied_stages_test
