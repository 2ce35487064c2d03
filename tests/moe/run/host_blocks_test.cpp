#include "moe/run/host_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/passes/restore_activation.h"
#include "moe/program/program_builder.h"
#include "moe/program/row_handling.h"
#include "moe/run/prepare.h"
#include "tests/moe/run/noting_backend.h"
#include "tests/moe/train/training_case.h"

namespace moe::host_blocks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kColumns = 1024, kRowBytes = 4 * kColumns;
constexpr std::int64_t kGuard = TouchedMemory::kGuardBytes;

/// A dropless layer of four tokens and two experts on two ranks, whose received rows are offloaded.
struct Offloading {
  test::NotingBackend backend;
  std::vector<std::int64_t>& blocks = backend.blocks;
  ProgramBuilder build{DType::f32};
  Groups groups;
  RunState state;
  TensorId kept = -1;

  Offloading(Communicator& world, std::int64_t host_limit)
      : groups(make_groups(world.size, world.size)),
        state(groups, backend, world,
              {.memory_limit_bytes = 1 << 30, .host_memory_limit_bytes = host_limit}) {
    const Phase phase = Phase::forward;
    const TensorId x = build.parameter({"x", 4, kColumns}), expert = build.input("expert", 4),
                   slot = build.input("slot", 4), offsets = build.input("offsets", 3),
                   demand = build.input("demand", 2);
    const TensorId total = build.integers("total_demand", 1, 2);
    const TensorId sent = build.routed("sent", Rows::sent, 0, kColumns, 0);
    const TensorId received = build.routed("received", Rows::received, 0, kColumns, 0);
    const TensorId back = build.routed("back", Rows::received, 0, kColumns, 0);
    kept = build.routed("kept", Rows::received, 0, kColumns, 0);
    build.program.tensors[static_cast<std::size_t>(kept)].pool = Pool::host;
    build.op(ExchangeCounts{2}, "exchange counts", {offsets, demand}, {total}, 0, phase);
    build.program.ops.back().stream = Stream::host;
    build.op(Permute{1}, "permute", {x, expert, slot, offsets}, {sent}, 0, phase);
    build.op(AllToAll{Direction::dispatch}, "dispatch", {sent}, {received}, 0, phase);
    build.op(OffloadRows{}, "offload", {received}, {kept}, 0, phase);
    build.op(FetchRows{}, "fetch", {kept}, {back}, 0, phase);
    adopt(state, build.program);
  }

  /// An iteration in which this routing comes.
  void iterate(std::vector<std::vector<std::int64_t>> tokens) {
    reset(state);
    state.progress.begin(state.program.ops.size() + 1, 0);
    prepare(state);
    const Routing routing{{LayerRouting{0, 2, std::move(tokens)}}};
    state.binding = bind(state.program, routing, groups, state.world.rank);
    prepare(state, RoutedLayer{0, 0});
  }
};

TEST(HostBlocks, HaveRoomForEvenRoutingAndAQuarterWhateverTheDeviceHolds) {
  run_local_ranks(2, [](Communicator& world) {
    Offloading one(world, 0);
    EXPECT_THAT(one.blocks, ElementsAre(5 * kRowBytes + kGuard));
    one.iterate({{2, 2}, {2, 2}});
    EXPECT_THAT(one.blocks, ElementsAre(5 * kRowBytes + kGuard));
  });
}

TEST(HostBlocks, GrowWhereRoutingSendsMoreAndAreOneBlockInTheNextIteration) {
  run_local_ranks(2, [](Communicator& world) {
    Offloading one(world, 0);
    one.iterate({{4, 0}, {4, 0}});
    if (world.rank == 1) {
      EXPECT_THAT(one.blocks, ElementsAre(5 * kRowBytes + kGuard)) << "it receives nothing";
      return;
    }
    EXPECT_THAT(one.blocks, ElementsAre(5 * kRowBytes + kGuard, 10 * kRowBytes + kGuard));
    EXPECT_EQ(host_place(one.state, one.kept), one.state.host_blocks[1].memory);
    one.iterate({{4, 0}, {4, 0}});
    EXPECT_THAT(one.blocks, ElementsAre(10 * kRowBytes + kGuard));
    EXPECT_EQ(host_place(one.state, one.kept), one.state.host_blocks[0].memory);
  });
}

TEST(HostBlocks, GrowNoFurtherThanTheirLimit) {
  run_local_ranks(2, [](Communicator& world) {
    Offloading one(world, 7 * kRowBytes);
    if (world.rank == 1) return;
    one.iterate({{4, 0}, {3, 1}});
    EXPECT_THAT(one.blocks, ElementsAre(5 * kRowBytes + kGuard, 7 * kRowBytes + kGuard));
    EXPECT_THAT(
        [&] {
          one.iterate({{4, 0}, {4, 0}});
        },
        ThrowsMessage<OutOfMemory>(
            HasSubstr("32.0 KiB to be offloaded, 4.00 KiB more than the host's memory may hold")));
  });
}

/// What is pinned and what is used, the most of all ranks.
std::pair<std::int64_t, std::int64_t> pinned_and_planned(std::optional<double> capacity_factor) {
  Model model = test::small_model(DType::f64);
  model.capacity_factor = capacity_factor;
  model.sequence_length = 64;
  const Schedule schedule{
      "offloads", {RestoreActivation{1, RestoreDispatched::offload, RestoreHidden::offload}}};
  std::vector<std::vector<std::int64_t>> blocks(2);
  std::vector<std::int64_t> planned(2);
  run_local_ranks(2, [&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank);
    test::NotingBackend backend;
    RunOptions options;
    options.memory_limit_bytes = std::int64_t{1} << 30;
    const test::RankOutcome outcome =
        test::train_rank(model, {schedule}, make_groups(2, 2), 2, world, backend, options);
    EXPECT_LE(outcome.last.touched_host_peak_bytes, outcome.last.planned_host_peak_bytes);
    blocks[rank] = backend.blocks;
    planned[rank] = outcome.last.planned_host_peak_bytes;
  });
  std::int64_t pinned = 0;
  for (const auto& of_rank : blocks) {
    for (const std::int64_t bytes : of_rank) pinned = std::max(pinned, bytes);
  }
  return {pinned, std::ranges::max(planned)};
}

TEST(HostBlocks, OfATrainingAreNoMoreThanTwiceWhatIsOffloaded) {
  const auto [pinned, planned] = pinned_and_planned(std::nullopt);
  EXPECT_GT(planned, 0);
  EXPECT_LE(pinned, 2 * planned + kGuard);
  const auto [by_capacity, planned_by_capacity] = pinned_and_planned(1.25);
  EXPECT_EQ(by_capacity, planned_by_capacity + kGuard) << "known before anything runs";
}

}  // namespace
}  // namespace moe::host_blocks_test
