#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/rows/routing_file.h"
#include "tests/tuner/scenario/two_rank_program.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::recorded_routing_test {
namespace {

using ::testing::HasSubstr;

using RecordedRouting = test::TwoRankProgram;

/// A run in whose iteration 5 this travelled.
struct RecordedRun {
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t id = 0;

  explicit RecordedRun(const moe::Routing& routing, bool micro_batches_apart = true) {
    const char* argv[] = {"test"};
    db::Run run = db::this_run("train", "test", 1, argv);
    run.ranks = 2;
    run.machine_id = db::find_or_insert(connection, db::this_machine());
    id = db::insert(connection, run);
    std::vector<db::Load> loads;
    for (const auto& layer : routing.layers) {
      for (int rank = 0; rank < 2; ++rank) {
        for (int expert = 0; expert < layer.experts; ++expert) {
          loads.push_back({id, 5, layer.layer, rank, expert,
                           moe::tokens_from(layer, rank)[static_cast<std::size_t>(expert)],
                           std::nullopt, micro_batches_apart ? layer.micro_batch : -1});
        }
      }
    }
    db::insert(connection, loads);
  }
  std::string read(const moe::Program& program, const moe::Groups& groups) const {
    return moe::to_json(recorded_routing(connection, id, 5, program, groups));
  }
};

TEST_F(RecordedRouting, IsThatOfTheRun) {
  const auto routing = make_routing("zipf:1", program, groups, 1);
  const RecordedRun run(routing);
  EXPECT_EQ(run.read(program, groups), moe::to_json(routing));
  EXPECT_THROW(recorded_routing(run.connection, run.id, 6, program, groups), db::Error);
}

TEST_F(RecordedRouting, IsThatOfEveryMicroBatch) {
  const moe::Program alone = program;
  model.micro_batches = 2;
  program = moe::build_iteration(model, groups, 0);
  auto routing = make_routing("zipf:1", program, groups, 1);
  for (auto& layer : routing.layers) {
    // The second micro-batch likes other experts.
    if (layer.micro_batch == 1) {
      for (auto& row : layer.tokens) std::ranges::reverse(row);
    }
  }
  const RecordedRun run(routing);
  EXPECT_EQ(run.read(program, groups), moe::to_json(routing));
  EXPECT_EQ(run.read(alone, groups), moe::to_json(moe::add_micro_batches(routing)));
}

TEST_F(RecordedRouting, OfAllMicroBatchesTogetherIsSharedOut) {
  const auto whole = make_routing("zipf:1", program, groups, 1);
  const RecordedRun run(whole, false);
  model.micro_batches = 2;
  program = moe::build_iteration(model, groups, 0);
  EXPECT_EQ(run.read(program, groups), moe::to_json(moe::share_among_micro_batches(whole, 2)));
}

TEST_F(RecordedRouting, ThatLacksRowsOrCopiesIsRefused) {
  const auto error_without = [&](const std::string& sql) -> std::string {
    RecordedRun run(make_routing("zipf:1", program, groups, 1));
    run.connection.database().exec(sql);
    try {
      run.read(program, groups);
    } catch (const db::Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_without("DELETE FROM load WHERE layer = 1 AND rank = 1"),
              HasSubstr("iteration 5, loads of layer 1: of 1 ranks, expected 2"));
  EXPECT_THAT(
      error_without("DELETE FROM load WHERE layer = 3 AND rank = 0 AND expert = 2"),
      HasSubstr(
          "loads of layer 3: rank 0 has 7 experts, 2 of them from 0 on without a gap: expected 8"));
  EXPECT_THAT(error_without("UPDATE load SET rank = 9 WHERE layer = 3 AND rank = 1"),
              HasSubstr("load.rank = 9, "));
  EXPECT_THAT(error_without("UPDATE load SET tokens = 0"),
              HasSubstr("loads of layer 1: rank 0 asks for 0 copies, expected 512"));
}

}  // namespace
}  // namespace tuner::recorded_routing_test
