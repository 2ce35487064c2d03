#include "moe/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <bitset>

#include "moe/model/iteration.h"
#include "moe/program/row_handling.h"
#include "moe/rows/routing.h"
#include "tests/moe/train/training_case.h"

namespace moe::memory_plan_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::small_model;

constexpr std::size_t kMostOps = 1024;
using OpSet = std::bitset<kMostOps>;

/// For every op all ops that have certainly finished when it starts, by following every edge.
std::vector<OpSet> ancestors(const Program& program) {
  const auto waits = dependencies(program);
  std::vector<OpSet> result(program.ops.size());
  std::array<int, kStreamCount> last;
  last.fill(-1);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    auto& previous = last[static_cast<std::size_t>(program.ops[i].stream)];
    const auto add = [&](int op) { result[i] |= result[op], result[i].set(op); };
    if (previous >= 0) add(previous);
    for (const int op : waits[i]) add(op);
    previous = static_cast<int>(i);
  }
  return result;
}

Routing uniform(const Model& model, int ranks) {
  Routing routing;
  for (int block = model.moe_every - 1; block < model.blocks; block += model.moe_every) {
    routing.layers.push_back(
        uniform_routing(block, ranks, model.experts,
                        model.global_batch / ranks * model.sequence_length * model.choices));
  }
  return routing;
}

struct PlanCase {
  Schedule schedule;
  std::optional<double> capacity_factor;
};

/// No decision; chunks; chunks that share buffers, without or with offloading to the other pool.
Schedule schedule_number(const Model& model, int number) {
  if (number < 2) return {};
  if (number < 5) return chunked(model, number, 3);
  Schedule schedule = chunked(model, 3, 3);
  for (const int layer : {1, 3}) {
    schedule.decisions.push_back(RestoreActivation{
        layer, number % 2 == 0 ? RestoreDispatched::offload : RestoreDispatched::communicate,
        number < 7 ? RestoreHidden::offload : RestoreHidden::recompute});
  }
  return schedule;
}

class MemoryPlanSafety : public ::testing::TestWithParam<int> {};

TEST_P(MemoryPlanSafety, NoTensorTakesMemoryThatSomeoneMayStillBeUsing) {
  Model model = small_model(DType::f32);
  model.blocks = 4;
  if (GetParam() % 2 == 0) model.capacity_factor = 1.5;
  const Groups groups = make_groups(4, 4);
  const Program program =
      apply(build_iteration(model, groups, 0), schedule_number(model, GetParam()));
  ASSERT_LT(program.ops.size(), kMostOps);
  const Binding binding = bind(program, uniform(model, 4), groups, 0);

  // Each activation's place at the time it is alive.
  MemoryPlan plan(program, start_rule(program));
  ASSERT_EQ(plan.advance(binding).size(), program.ops.size());
  const auto before = ancestors(program);
  std::vector<std::vector<int>> users(program.tensors.size()), writers(program.tensors.size());
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    for (const Use& use : program.ops[i].reads) users[use.tensor].push_back(i);
    for (const Use& use : program.ops[i].writes) {
      users[use.tensor].push_back(i);
      writers[use.tensor].push_back(i);
    }
  }
  int shared = 0;
  for (TensorId a = 0; a < static_cast<TensorId>(program.tensors.size()); ++a) {
    for (TensorId b = 0; b < static_cast<TensorId>(program.tensors.size()); ++b) {
      if (a == b || users[a].empty() || users[b].empty()) continue;
      if (program.tensors[a].pool != program.tensors[b].pool) continue;
      if (plan.offset(a) >= plan.end(b) || plan.offset(b) >= plan.end(a)) continue;
      ++shared;
      const auto all_before = [&](TensorId first, TensorId second) {
        for (const int writer : writers[second]) {
          for (const int user : users[first]) {
            if (!before[writer][user]) return false;
          }
        }
        return true;
      };
      EXPECT_TRUE(all_before(a, b) || all_before(b, a))
          << program.tensors[a].name << " and " << program.tensors[b].name;
    }
  }
  EXPECT_GT(shared, 20) << "memory should be used again";
}
INSTANTIATE_TEST_SUITE_P(Schedules, MemoryPlanSafety, ::testing::Range(0, 9));

TEST(MemoryPlan, WithCapacityKnowsThePeakBeforeAnyRouting) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1.0;
  const Program program = build_iteration(model, make_groups(2, 2), 0);
  MemoryPlan plan(program, start_rule(program));
  EXPECT_EQ(plan.advance({}).size(), program.ops.size());
  EXPECT_GT(plan.peak_bytes(), plan.activations_begin());
}

TEST(MemoryPlan, DroplessLeavesOutWhatItDoesNotKnowAndGoesOnWithTheRouting) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(model, groups, 0);
  MemoryPlan plan(program, start_rule(program));
  const std::vector<int> known = plan.advance({});
  EXPECT_FALSE(plan.is_complete());
  for (const int op : known) {
    EXPECT_FALSE(uses_routed_rows(program, program.ops[op])) << program.ops[op].name;
  }
  EXPECT_GT(known.back(), known.size()) << "what does not wait for the routing comes before it";
  const Binding binding = bind(program, uniform(model, 2), groups, 0);
  EXPECT_EQ(known.size() + plan.advance(binding).size(), program.ops.size());
  EXPECT_TRUE(plan.is_complete());
  EXPECT_EQ(plan.peak_bytes(), planned_peak_bytes(program, binding));
  EXPECT_THROW(planned_peak_bytes(program, {}), std::invalid_argument);
}

TEST(MemoryPlan, OfMicroBatchesOneAfterAnotherNeedsWhatOneNeeds) {
  const auto activations = [](int micro_batches) {
    Model model = all_moe_model(DType::f32, 20);
    model.micro_batches = model.global_batch = model.capacity_groups = micro_batches;
    model.capacity_factor = 1.25;
    const Program program = build_iteration(model, make_groups(1, 1), 0);
    MemoryPlan plan(program, start_rule(program));
    plan.advance({});
    return plan.peak_bytes() - plan.activations_begin();
  };
  EXPECT_EQ(activations(64), activations(2));
}

TEST(MemoryPlan, GivesTheSameAgainAfterARestart) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(1, 1);
  const Program program = build_iteration(model, groups, 0);
  const Binding binding = bind(program, uniform(model, 1), groups, 0);
  MemoryPlan plan(program, start_rule(program));
  plan.advance(binding);
  const std::int64_t peak = plan.peak_bytes(),
                     place = plan.offset(program.ops.front().writes[0].tensor);
  plan.restart();
  EXPECT_EQ(plan.peak_bytes(), plan.activations_begin());
  plan.advance(binding);
  EXPECT_EQ(plan.peak_bytes(), peak);
  EXPECT_EQ(plan.offset(program.ops.front().writes[0].tensor), place);
}

}  // namespace
}  // namespace moe::memory_plan_test
