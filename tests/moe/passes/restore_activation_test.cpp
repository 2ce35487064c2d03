#include "moe/passes/restore_activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::restore_activation_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using test::with_streams_of;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Dispatched = RestoreDispatched;
using Hidden = RestoreHidden;

struct Strategy {
  Dispatched dispatched;
  Hidden hidden;
};
/// MPMoE's S1 to S4, and shared buffers that overwrite nothing that backward needs.
constexpr Strategy kStrategies[] = {{Dispatched::offload, Hidden::offload},
                                    {Dispatched::communicate, Hidden::offload},
                                    {Dispatched::offload, Hidden::recompute},
                                    {Dispatched::communicate, Hidden::recompute},
                                    {Dispatched::keep, Hidden::keep}};

std::string name_of(Strategy strategy) {
  return std::string(kDispatchedNames[static_cast<std::size_t>(strategy.dispatched)]) + ", " +
         std::string(kHiddenNames[static_cast<std::size_t>(strategy.hidden)]);
}

Schedule restoring(const Model& model, int chunks, Strategy strategy, int hidden_buffers = 1) {
  Schedule schedule = chunked(model, chunks, chunks);
  schedule.decisions.push_back(
      RestoreActivation{1, strategy.dispatched, strategy.hidden, hidden_buffers});
  return schedule;
}

Program restored(const Model& model, const Groups& groups, int chunks, Strategy strategy) {
  return apply(build_iteration(model, groups, 0), restoring(model, chunks, strategy));
}

std::string order_of(const Program& program, Phase phase) {
  std::string order;
  for (const Op& op : program.ops) {
    if (op.layer != 1 || op.phase != phase) continue;
    if (!uses_routed_rows(program, op)) continue;
    order += std::string(kind_name(op)) + std::to_string(op.chunk.index) + " ";
  }
  return order;
}

TEST(RestoreActivation, AlternatesWhatIsSentAndWhatReturns) {
  const Program program = restored(small_model(DType::f32), make_groups(4, 4), 3,
                                   {Dispatched::offload, Hidden::offload});
  EXPECT_EQ(order_of(program, Phase::forward),
            "permute0 all_to_all0 offload_rows0 permute1 all_to_all1 offload_rows1 "
            "expert_linear0 offload_rows0 gelu0 expert_linear0 all_to_all0 "
            "permute2 all_to_all2 offload_rows2 "
            "expert_linear1 offload_rows1 gelu1 expert_linear1 all_to_all1 "
            "expert_linear2 offload_rows2 gelu2 expert_linear2 all_to_all2 combine0 "
            "await_copies0 ");
  EXPECT_EQ(order_of(program, Phase::backward).substr(0, 255),
            "combine_weight_gradient0 fetch_rows0 fetch_rows0 fetch_rows1 "
            "combine_input_gradient0 all_to_all0 combine_input_gradient1 all_to_all1 "
            "gelu0 expert_linear_input_gradient0 gelu_gradient0 expert_linear_input_gradient0 "
            "all_to_all0 expert_linear_weight_gradient");
}

TEST(RestoreActivation, SendsAndComputesAgainWhatItDoesNotOffload) {
  const Program program = restored(small_model(DType::f32), make_groups(4, 4), 2,
                                   {Dispatched::communicate, Hidden::recompute});
  EXPECT_THAT(order_of(program, Phase::backward),
              HasSubstr("permute0 all_to_all0 combine_input_gradient0 all_to_all0 "
                        "permute1 all_to_all1 combine_input_gradient1 all_to_all1 "
                        "expert_linear0 gelu0 expert_linear_input_gradient0 "));
  for (const Op& op : program.ops) EXPECT_NE(op.stream, Stream::copy);
}

TEST(RestoreActivation, ReluNeedsOneHiddenTensorOfForwardAndGeluTwo) {
  for (const Activation activation : {Activation::relu, Activation::gelu}) {
    Model model = small_model(DType::f32);
    model.activation = activation;
    const Program program =
        restored(model, make_groups(2, 2), 2, {Dispatched::keep, Hidden::recompute});
    const auto count =
        std::count_if(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) {
          return tensor.windows > 1 && tensor.columns == 24 &&
                 tensor.name.find(".restored") == std::string::npos &&
                 tensor.name.find("d_") == std::string::npos;
        });
    EXPECT_EQ(count, 2);  // up and activated, one buffer each
    const auto fetched = [&](Strategy strategy) {
      const Program offloading = restored(model, make_groups(2, 2), 2, strategy);
      return std::count_if(offloading.ops.begin(), offloading.ops.end(),
                           [](const Op& op) { return kind_name(op) == "fetch_rows"; });
    };
    // The hidden rows of a chunk: the input of GELU, from which its output is computed again; the
    // output of ReLU.
    EXPECT_EQ(fetched({Dispatched::keep, Hidden::offload}), 2);
  }
}

TEST(RestoreActivation, LeavesLossesAndGradientsBitForBitAsThoseOfTheSameChunks) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const char* expert : {"gpt", "mixtral"}) {
      for (const bool drops : {true, false}) {
        Model model = small_model(dtype);
        model.expert = expert;
        if (drops) model.capacity_factor = 1.25;
        const int ranks = drops ? 4 : 2;
        for (const int chunks : {2, 4, 8}) {
          const Outcome whole = train_small(model, chunked(model, chunks, chunks), ranks, 2);
          for (const Strategy strategy : kStrategies) {
            const Outcome outcome =
                train_small(model, restoring(model, chunks, strategy), ranks, 2);
            EXPECT_EQ(outcome.losses, whole.losses) << name_of(strategy);
            EXPECT_EQ(outcome.gradients, whole.gradients) << name_of(strategy);
          }
        }
      }
    }
  }
}

TEST(RestoreActivation, GivesTheSequentialGradientsOnAnyRanksAndMicroBatches) {
  for (const int micro_batches : {1, 2}) {
    for (const char* expert : {"gpt", "mixtral"}) {
      Model model = small_model(DType::f64);
      model.expert = expert;
      model.micro_batches = micro_batches;
      model.capacity_factor = 1.25;
      model.capacity_groups = 28;
      const Outcome reference = train_small(model, {"sequential", {}}, 1, 2);
      for (const int ranks : {1, 2, 7}) {
        if (28 / micro_batches % ranks != 0) continue;
        for (const Strategy strategy : kStrategies) {
          for (const int buffers : {1, 2}) {
            Schedule schedule = restoring(model, 3, strategy, buffers);
            if (micro_batches > 1) {
              schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::one_f_one_b});
            }
            const Outcome outcome = train_small(model, schedule, ranks, 2);
            EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0]);
            EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-9 * reference.losses[1]);
            EXPECT_LT(largest_difference(outcome, reference), 1e-11) << name_of(strategy);
          }
        }
      }
    }
  }
}

TEST(RestoreActivation, TouchesWhatIsPlannedInBothPools) {
  Model model = small_model(DType::f32);  // dropless: every row there is room for comes
  for (const char* expert : {"gpt", "mixtral"}) {
    model.expert = expert;
    for (const Strategy strategy : kStrategies) {
      for (const int chunks : {1, 2, 5}) {
        const Outcome outcome = train_small(model, restoring(model, chunks, strategy), 2, 1);
        EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << name_of(strategy);
        EXPECT_EQ(outcome.touched_host_peaks, outcome.planned_host_peaks) << name_of(strategy);
        const bool offloads =
            strategy.dispatched == Dispatched::offload || strategy.hidden == Hidden::offload;
        EXPECT_EQ(outcome.planned_host_peaks[0] > 0, offloads) << name_of(strategy);
      }
    }
  }
}

TEST(RestoreActivation, LaterLayersUseTheMemoryOfBuffersThatHaveBeenOffloaded) {
  const auto peaks = [](int blocks, Strategy strategy, Pool pool) {
    Model model = all_moe_model(DType::f32, blocks);
    model.capacity_factor = 1.25;
    Schedule schedule = chunked(model, 2, 2);
    for (int block = 0; block < blocks; ++block) {
      schedule.decisions.push_back(RestoreActivation{block, strategy.dispatched, strategy.hidden});
    }
    const Program program = apply(build_iteration(model, make_groups(1, 1), 0), schedule);
    MemoryPlan plan(program, start_rule(program));
    plan.advance({});
    const std::int64_t begin = pool == Pool::device ? plan.activations_begin() : 0;
    return plan.peak_bytes(pool) - begin;
  };
  const auto of_six_more = [&](Strategy strategy, Pool pool) {
    return peaks(12, strategy, pool) - peaks(6, strategy, pool);
  };
  const Strategy s1 = kStrategies[0], s4 = kStrategies[3];
  EXPECT_EQ(of_six_more(s1, Pool::device), of_six_more(s4, Pool::device));
  EXPECT_EQ(peaks(12, s1, Pool::host), 2 * peaks(6, s1, Pool::host));
  EXPECT_EQ(peaks(12, s4, Pool::host), 0);
}

TEST(RestoreActivation, WorksWithAnyRouteOfExchangesAndWithPackedRows) {
  Model model = small_model(DType::f64);
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  for (const Route route : {Route::one_d, Route::two_d, Route::pairwise}) {
    for (const Strategy strategy : kStrategies) {
      Schedule schedule = chunked(model, 3, 3);
      for (const Phase phase : {Phase::forward, Phase::backward}) {
        schedule.decisions.push_back(Exchange{1, phase, {}, route, 2});
        schedule.decisions.push_back(CompressExchange{1, phase, WireFormat::int8});
      }
      schedule = with_streams_of(build_iteration(model, groups, 0), schedule);
      const Outcome whole = train_small(model, schedule, groups, 1);
      schedule.decisions.push_back(RestoreActivation{1, strategy.dispatched, strategy.hidden});
      const Outcome outcome = train_small(model, schedule, groups, 1);
      EXPECT_EQ(outcome.losses, whole.losses) << route_name(route) << " " << name_of(strategy);
      EXPECT_EQ(outcome.gradients, whole.gradients)
          << route_name(route) << " " << name_of(strategy);
    }
  }
}

TEST(RestoreActivation, RefusesWithTheReasonAndWhatWouldDo) {
  const Model model = small_model(DType::f32);
  const auto refused = [](const Program& program, std::vector<Decision> decisions,
                          const std::string& why) {
    EXPECT_THAT(
        [&] {
          apply(program, Schedule{"refused", std::move(decisions)});
        },
        ThrowsMessage<Refusal>(HasSubstr(why)));
  };
  const RestoreActivation one{1, Dispatched::offload, Hidden::recompute};
  const Program program = build_iteration(model, make_groups(4, 4), 0);
  refused(program, {RestoreActivation{0}}, "keep, keep (layer 0): pipeline_split");
  refused(program, {PipelineSplit{1, Phase::forward, 2}, one},
          "offload, recompute (layer 1): 2 chunks forward, 1 backward: expected pipeline_split");
  refused(program, {PipelineSplit{1, Phase::forward, 2}, PipelineSplit{1, Phase::backward, 3}, one},
          "2 chunks forward, 3 backward");
  refused(program, {RestoreActivation{1, Dispatched::keep, Hidden::offload, 3}},
          "hidden_buffers = 3: expected 1 or 2");
  refused(program,
          {PipelineSplit{1, Phase::forward, 2, 2}, PipelineSplit{1, Phase::backward, 2, 2}, one},
          "cut by groups of ranks: expected pipeline_split without ranks_per_group");
  refused(build_iteration(model, make_groups(Layout{1, 2, 2}), 0), {one},
          "ranks share its experts: expected a layout with esp = 1");
  Model by_position = model;
  by_position.drop = Drop::position;
  refused(build_iteration(by_position, make_groups(2, 2), 0), {PartitionRange{1, 2, 0, 0}, one},
          "partition_range");
}

TEST(RestoreActivation, ReadsWhatItWrites) {
  const Schedule schedule{"S2",
                          {RestoreActivation{3, Dispatched::communicate, Hidden::offload, 2}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
}

}  // namespace
}  // namespace moe::restore_activation_test
