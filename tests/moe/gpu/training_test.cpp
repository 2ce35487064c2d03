// Whole training steps on the device against the CPU's, one rank and several on one device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/rows/balance.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::training_test {
namespace {

class CudaTraining : public ::testing::TestWithParam<std::tuple<int, DType>> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
  static Outcome train_on_device(const Model& model, const Schedule& schedule, int ranks,
                                 int steps) {
    return train_small(model, schedule, Layout{1, ranks, 1}, steps,
                       [] { return make_cuda_backend(0); });
  }
};

// Ranks are threads here; their rows travel through pinned host memory as under MPI.
TEST_P(CudaTraining, GivesTheLossAndGradientsOfTheCpu) {
  const auto [ranks, dtype] = GetParam();
  Model model = small_model(dtype);
  model.capacity_factor = 1.25;
  const double limit = dtype == DType::f64 ? 1e-10 : 1e-5;
  const Outcome cpu = train_small(model, {}, 1, 3);
  for (const Schedule& schedule : {Schedule{}, chunked(model, 3, 2)}) {
    const Outcome device = train_on_device(model, schedule, ranks, 3);
    for (int step = 0; step < 3; ++step) {
      EXPECT_NEAR(device.losses[step], cpu.losses[step], 10 * limit * cpu.losses[step]);
    }
    EXPECT_LT(largest_difference(device, cpu), limit);
    EXPECT_EQ(device.dropped, cpu.dropped);
    for (std::size_t rank = 0; rank < device.planned_peaks.size(); ++rank) {
      EXPECT_LE(device.touched_peaks[rank], device.planned_peaks[rank]);
    }
  }
}
/// "4InF64": scripts ask for some by name.
std::string name_of_case(const ::testing::TestParamInfo<std::tuple<int, DType>>& info) {
  const bool f64 = std::get<DType>(info.param) == DType::f64;
  return fmt::format("{}In{}", std::get<int>(info.param), f64 ? "F64" : "F32");
}
INSTANTIATE_TEST_SUITE_P(Ranks, CudaTraining,
                         ::testing::Combine(::testing::Values(1, 2, 4),
                                            ::testing::Values(DType::f64, DType::f32)),
                         name_of_case);

/// Of 6 experts two of the four ranks have one, and room for two.
TEST_F(CudaTraining, OfExpertsThatRanksHaveUnevenlyGivesTheLossAndGradientsOfTheCpu) {
  Model model = small_model(DType::f64);
  model.experts = 6;
  model.capacity_factor = 1.25;
  const Outcome cpu = train_small(model, {}, 1, 3);
  for (const ExchangedRows exchange : {ExchangedRows::irregular, ExchangedRows::padded}) {
    model.exchange = exchange;
    const Outcome device = train_on_device(model, chunked(model, 3, 2), 4, 3);
    for (int step = 0; step < 3; ++step) {
      EXPECT_NEAR(device.losses[step], cpu.losses[step], 1e-9 * cpu.losses[step]);
    }
    EXPECT_LT(largest_difference(device, cpu), 1e-10);
    EXPECT_EQ(device.dropped, cpu.dropped);
  }
}

/// Two communicators at work on two streams: gradients of a block are reduced while rows of the
/// block before it travel.
Schedule on_two_streams(const Model& model) {
  Schedule schedule = chunked(model, 3, 2);
  schedule.decisions.push_back(PlaceAllReduce{2, 0, ExchangePlace::dispatch, 1});
  schedule.decisions.push_back(PlaceAllReduce{1, 0, ExchangePlace::dispatch, 0});
  schedule.decisions.push_back(StreamAssignment{"all_reduce", Stream::intra_node});
  return schedule;
}

/// Experts that travel along rings: through two ranks, through all of four, and through three of
/// four, where the one between adds what it passes on.
Schedule on_rings(int ranks) {
  ExpertPlacement placement{{{0, {ranks - 1}}}, RowsOfOthers::home, {}, ExpertRoute::ring};
  if (ranks == 4) {
    placement.replicas.push_back({7, {0, 2, 3}});
    placement.replicas.push_back({27, {0, 1}});
  }
  return {"rings", {ReplicateExperts{1, placement}}};
}

constexpr LateRule kLateRules[] = {LateRule::ultraep, LateRule::moonep, LateRule::llep};

/// The exchange of layer 1 in chunks, and its replicas chosen after the gate.
Schedule after_the_gate(const Model& model, LateRule rule) {
  Schedule schedule = chunked(model, 3, 2);
  ExpertPlacement placement;
  placement.rows_of_others = RowsOfOthers::balanced;
  placement.late = {rule, 2, 1.1, 1};
  if (rule == LateRule::moonep) placement.route = ExpertRoute::ring;
  schedule.decisions.push_back(ReplicateExperts{1, placement});
  schedule.decisions.push_back(StreamAssignment{"send_experts", Stream::intra_node});
  return schedule;
}

/// Two micro-batches have replicas of their own.
TEST_F(CudaTraining, WithReplicasChosenAfterTheGateGivesTheLossAndGradientsOfTheCpu) {
  Model model = small_model(DType::f64);
  model.global_batch = model.capacity_groups = 32;
  model.micro_batches = 2;
  const Outcome cpu = train_small(model, {}, 1, 3);
  const Groups groups = make_groups(Layout{1, 4, 1});
  for (const LateRule rule : kLateRules) {
    const Schedule schedule = after_the_gate(model, rule);
    SCOPED_TRACE(to_json(schedule));
    const Outcome device =
        train_in_turn(model, {schedule}, groups, 3, [] { return make_cuda_backend(0); },
                      {.memory_limit_bytes = std::int64_t{1} << 26});
    for (int step = 0; step < 3; ++step) {
      EXPECT_NEAR(device.losses[step], cpu.losses[step], 1e-9 * cpu.losses[step]);
    }
    EXPECT_LT(largest_difference(device, cpu), 1e-10);
    const ExpertPlacement placement = decisions_of<ReplicateExperts>(schedule)[0].placement;
    for (const LayerRouting& routed : device.routing.layers) {
      EXPECT_NE(rank_tokens(routed, groups, placement), rank_tokens(routed, groups));
    }
  }
}

TEST_F(CudaTraining, OverNcclGivesTheLossAndGradientsOfTheCpu) {
  if (!has_nccl()) GTEST_SKIP() << "built without NCCL";
  const Model model = all_moe_model(DType::f64, 3);
  const Outcome cpu = train_small(model, {}, 1, 2);
  for (const int ranks : {2, 4}) {
    if (ranks > cuda_device_count()) continue;
    const Groups groups = make_groups(Layout{1, ranks, 1});
    std::vector<Schedule> schedules{on_two_streams(model), on_rings(ranks)};
    for (const LateRule rule : kLateRules) schedules.push_back(after_the_gate(model, rule));
    for (const Schedule& schedule : schedules) {
      SCOPED_TRACE(to_json(schedule));
      const Outcome nccl = train_over_nccl(model, schedule, groups, 2);
      for (std::size_t step = 0; step < 2; ++step) {
        EXPECT_NEAR(nccl.losses[step], cpu.losses[step], 1e-9 * cpu.losses[step]);
      }
      EXPECT_LT(largest_difference(nccl, cpu), 1e-10);
    }
  }
}

TEST_F(CudaTraining, SpansKeepTheOrderOfStreamsAndDependencies) {
  const Model model = small_model(DType::f32);
  const Schedule schedule = chunked(model, 2, 2);
  const Outcome outcome = train_on_device(model, schedule, 2, 2);
  const Program program = apply(build_iteration(model, make_groups(2, 2), 0), schedule);
  const auto waits = dependencies(program);
  for (const auto& spans : outcome.timeline.ranks) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (const int earlier : waits[i]) {
        EXPECT_GE(spans[i].start_s + outcome.time_error_s,
                  spans[earlier].start_s + spans[earlier].duration_s)
            << program.ops[i].name << " after " << program.ops[earlier].name;
      }
    }
  }
}

}  // namespace
}  // namespace moe::test::training_test
