#include "moe/train/change_program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/expert_state.h"
#include "moe/run/touched_memory.h"
#include "moe/train/initialize.h"
#include "tests/moe/run/noting_backend.h"
#include "tests/moe/train/training_case.h"

namespace moe::change_program_test {
namespace {

constexpr double kLimit_s = 60;

std::int64_t bytes_of_tensor(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[static_cast<std::size_t>(id)];
  return tensor.rows * tensor.columns * bytes_of(tensor.dtype);
}

std::vector<std::byte> contents(const Runner& runner, TensorId id) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of_tensor(runner.program(), id)));
  runner.read(id, bytes);
  return bytes;
}

/// A runner on one of two ranks that share the experts, all of whose states hold something.
struct OneRank {
  Model model = test::small_model(DType::f32);
  Groups groups = make_groups(2, 2);
  Program plain = build_iteration(model, groups, 0);
  test::NotingBackend backend;
  Runner runner;
  SharedStates states;
  Communicator& world;

  explicit OneRank(Communicator& in_world)
      : runner(plain, groups, backend, in_world, {.memory_limit_bytes = 1 << 28}),
        states(groups, in_world, kLimit_s),
        world(in_world) {
    initialize_parameters(runner, model.seed);
    for (const Parameter& parameter : runner.program().parameters) {
      for (const TensorId state : parameter.optimizer_state) {
        std::vector<std::byte> bytes = contents(runner, state);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
        runner.write(state, bytes);
      }
    }
  }
  void change(const Program& next) {
    backend.up_bytes = backend.down_bytes = 0;
    change_program(runner, next, states, world, kLimit_s);
  }
  /// [state]: its bytes.
  std::map<TensorId, std::vector<std::byte>> all_states() const {
    std::map<TensorId, std::vector<std::byte>> all;
    for (const Parameter& parameter : runner.program().parameters) {
      for (const TensorId state : parameter.optimizer_state) all[state] = contents(runner, state);
    }
    return all;
  }
  /// Of the states of parameters that both ranks have.
  std::int64_t shared_bytes() const {
    std::int64_t bytes = 0;
    for (const Parameter& parameter : runner.program().parameters) {
      if (parameter.replicas == GroupKind::expert_data) continue;
      for (const TensorId state : parameter.optimizer_state) {
        bytes += bytes_of_tensor(runner.program(), state);
      }
    }
    return bytes;
  }
};

TEST(ChangeProgram, MovesOnlyStatesThatRanksShareOut) {
  run_local_ranks(2, [](Communicator& world) {
    OneRank one(world);
    const Program shared = apply(one.plain, {"sharded", {ShardOptimizer{}}});
    const auto before = one.all_states();
    const std::int64_t whole = one.shared_bytes();
    one.change(shared);
    const std::int64_t shares = one.shared_bytes();
    EXPECT_LT(shares, whole);
    EXPECT_EQ(one.backend.up_bytes, shares);
    EXPECT_LE(one.backend.down_bytes, shares) << "a rank has its own share";
    const auto between = one.all_states();
    for (const Parameter& parameter : one.runner.program().parameters) {
      if (parameter.replicas != GroupKind::expert_data) continue;
      for (const TensorId state : parameter.optimizer_state) {
        EXPECT_EQ(between.at(state), before.at(state));
      }
    }
    one.change(one.plain);
    EXPECT_EQ(one.backend.up_bytes, whole);
    EXPECT_EQ(one.backend.down_bytes, shares);
    EXPECT_EQ(one.all_states(), before);
  });
}

TEST(ChangeProgram, MovesOnlyBlocksOfExpertsThatGetAnotherHome) {
  run_local_ranks(2, [](Communicator& world) {
    OneRank one(world);
    const auto experts = static_cast<int>(one.model.experts);
    ExpertHomes homes;
    for (int e = 0; e < experts; ++e) homes.push_back(e < experts / 2 ? 0 : 1);
    std::swap(homes.front(), homes.back());
    const Program moved = apply(one.plain, {"moved", {PlaceExperts{1, homes}}});
    std::int64_t expected = 0;
    for (const Parameter& parameter : one.runner.program().parameters) {
      if (!belongs_to_experts(parameter) || parameter.layer != 1) continue;
      std::int64_t blocks = 0;
      for (const ExpertMove& move : moves_to_homes(one.plain.homes, moved.homes, 1, 2)) {
        blocks += move.from == world.rank;
      }
      for (const TensorId id : tensors_that_move(parameter)) {
        expected += bytes_of_tensor(one.plain, id) / (experts / 2) * blocks;
      }
    }
    one.change(moved);
    EXPECT_GT(expected, 0);
    EXPECT_EQ(one.backend.down_bytes, expected);
    EXPECT_EQ(one.backend.up_bytes, expected);
  });
}

TEST(ChangeProgram, TakesTheArenaOfTheLargestProgramToCome) {
  const auto world = make_solo_communicator();
  const Model model = test::small_model(DType::f32);
  Model small = model;
  small.capacity_factor = 1.0;
  const Program plain = build_iteration(small, make_groups(1, 1), 0);
  const Program smaller = apply(plain, {"recomputes", {RestoreBlock{0, RestoreDense::recompute}}});
  const std::int64_t most = known_peak_bytes(plain, 0).value();
  ASSERT_LT(known_peak_bytes(smaller, 0).value(), most);
  test::NotingBackend backend;
  RunOptions options{.memory_limit_bytes = 1 << 28, .least_arena_bytes = most};
  Runner runner(smaller, make_groups(1, 1), backend, *world, options);
  runner.reschedule(plain);
  EXPECT_EQ(backend.arenas, std::vector<std::int64_t>{most + TouchedMemory::kGuardBytes});
  EXPECT_EQ(known_peak_bytes(build_iteration(model, make_groups(1, 1), 0), 0).has_value(),
            model.capacity_factor.has_value());
}

}  // namespace
}  // namespace moe::change_program_test
