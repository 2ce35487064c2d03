#include "moe/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "moe/memory/memory_owners.h"
#include "moe/model/iteration.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/rows/routing.h"
#include "tests/moe/train/training_case.h"

namespace moe::memory_plan_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::small_model;

constexpr std::size_t kMostOps = 4096;
using OpSet = std::bitset<kMostOps>;

/// For every op all ops that have certainly finished when it starts, by following every edge.
std::vector<OpSet> ancestors(const Program& program) {
  const auto waits = waits_for(program);
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

/// The same number of copies for each expert.
Routing uniform(const Model& model, int ranks) {
  Routing routing;
  for (int m = 0; m < model.micro_batches; ++m) {
    for (int block = model.moe_every - 1; block < model.blocks; block += model.moe_every) {
      routing.layers.push_back(uniform_routing(block, ranks, model.experts,
                                               model.global_batch / model.micro_batches / ranks *
                                                   model.sequence_length * model.choices));
      routing.layers.back().micro_batch = m;
    }
  }
  return routing;
}

/// Experts that are popular in one layer and micro-batch are not in another.
Routing drawn(const Model& model, int ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  Routing routing = uniform(model, ranks);
  for (LayerRouting& layer : routing.layers) {
    for (std::vector<std::int64_t>& copies : layer.tokens) {
      std::vector<std::int64_t> all(copies.size());
      for (std::int64_t left = std::reduce(copies.begin(), copies.end()); left > 0; --left) {
        ++all[std::min(random() % all.size(), random() % all.size())];
      }
      copies = std::move(all);
      std::ranges::shuffle(copies, random);
    }
    layer.alike = 1;
  }
  return routing;
}

/// A rank's Program under a schedule, dropless or with a capacity, in micro-batches or not.
struct DrawnPlan {
  Model model = small_model(DType::f32);
  Layout layout{1, 4};
  Schedule schedule;
};

/// No decision, chunks, chunks that share buffers without or with offloading to the other pool,
/// parts of the batch, and the orders of micro-batches.
DrawnPlan drawn_plan(int number) {
  DrawnPlan draw;
  Model& model = draw.model;
  model.blocks = 4;
  if (number % 2 == 0) model.capacity_factor = 1.5;
  model.micro_batches = number / 9 % 2 == 0 ? 1 : 3;
  model.global_batch = model.capacity_groups = 4 * 2 * model.micro_batches;
  const int kind = number % 9;
  if (kind >= 2 && kind < 4) draw.schedule = chunked(model, kind, 3);
  if (kind >= 4 && kind < 7) {
    draw.schedule = chunked(model, 3, 3);
    for (const int layer : {1, 3}) {
      draw.schedule.decisions.push_back(RestoreActivation{
          layer, kind == 5 ? RestoreDispatched::communicate : RestoreDispatched::offload,
          kind < 6 ? RestoreHidden::offload : RestoreHidden::recompute});
    }
  }
  if (kind == 7) {
    for (const int layer : {1, 3}) {
      draw.schedule.decisions.push_back(PartitionRange{layer, 2, 0, 1});
    }
    draw.schedule.decisions.push_back(StreamAssignment{"all_to_all", Stream::inter_node});
  }
  if (number >= 18) draw.layout = {4, 1};  // a rank exchanges rows with itself
  if (kind == 8) {
    draw.layout = number >= 18 ? Layout{2, 1, 1, 1, 2} : Layout{1, 2, 1, 1, 2};
    if (model.micro_batches > 1) draw.schedule.decisions.push_back(OrderMicroBatches{});
  }
  if (kind == 1 && model.micro_batches > 1) {
    draw.schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::interleaved});
    draw.schedule.decisions.push_back(StreamAssignment{"all_to_all", Stream::inter_node});
  }
  return draw;
}

/// The most bytes of tensors in use at once where ops run in list order.
std::int64_t bytes_in_use(const Program& program, const MemoryPlan& plan) {
  const std::vector<TensorId> owners = memory_owners(program);
  std::vector<int> first(program.tensors.size(), -1), last(program.tensors.size(), -1);
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    for (const auto* uses : {&program.ops[i].reads, &program.ops[i].writes}) {
      for (const Use& use : *uses) {
        const TensorId owner = owners[use.tensor];
        if (first[owner] < 0) first[owner] = i;
        last[owner] = i;
      }
    }
  }
  std::vector<std::int64_t> change(program.ops.size() + 1);
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (first[t] < 0 || tensor.pool != Pool::device) continue;
    if (!lives_within_iteration(tensor.role)) continue;
    const auto id = static_cast<TensorId>(t);
    change[first[t]] += plan.end(id) - plan.offset(id);
    change[last[t] + 1] -= plan.end(id) - plan.offset(id);
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  return plan.activations_begin() + std::ranges::max(change);
}

class MemoryPlanSafety : public ::testing::TestWithParam<int> {
 protected:
  const DrawnPlan draw = drawn_plan(GetParam());
  const Groups groups = make_groups(draw.layout);
  const Program whole = apply(build_iteration(draw.model, groups, 0), draw.schedule);
  const Program program = stage_program(whole, 0).program;
  const Binding binding =
      bind(program, drawn(draw.model, stage_ranks(groups), GetParam()), groups, 0);
};

TEST_P(MemoryPlanSafety, NoTensorTakesMemoryThatSomeoneMayStillBeUsing) {
  ASSERT_LT(program.ops.size(), kMostOps);
  // Each activation's place at the time it is alive.
  MemoryPlan plan(program, start_rule(program));
  ASSERT_EQ(plan.advance(binding).size(), program.ops.size());
  const auto before = ancestors(program);
  const std::vector<TensorId> owners = memory_owners(program);
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
      if (owners[a] == owners[b]) continue;
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

TEST_P(MemoryPlanSafety, ThePeakIsLittleMoreThanWhatIsInUse) {
  MemoryPlan plan(program, start_rule(program));
  plan.advance(binding);
  const auto in_use = static_cast<double>(bytes_in_use(program, plan));
  EXPECT_LE(static_cast<double>(plan.peak_bytes()), 1.25 * in_use);
  RecordProperty("planned_by_in_use",
                 std::to_string(static_cast<double>(plan.peak_bytes()) / in_use));
}
INSTANTIATE_TEST_SUITE_P(Schedules, MemoryPlanSafety, ::testing::Range(0, 36));

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
  const StartRule rule = start_rule(program);
  const int exchange =
      static_cast<int>(std::ranges::find_if(program.ops, binds_routing) - program.ops.begin());
  const std::vector<int> known = plan.advance({});
  EXPECT_FALSE(plan.is_complete());
  std::vector<bool> is_known(program.ops.size());
  for (const int op : known) {
    EXPECT_FALSE(uses_routed_rows(program, program.ops[op])) << program.ops[op].name;
    is_known[op] = true;
  }
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    EXPECT_NE(is_known[op], ends_before(rule, exchange, op))
        << program.ops[op].name << ": what may start before the counts are known has its place";
  }
  const Binding binding = bind(program, uniform(model, 2), groups, 0);
  EXPECT_EQ(known.size() + plan.advance(binding).size(), program.ops.size());
  EXPECT_TRUE(plan.is_complete());
  EXPECT_EQ(plan.peak_bytes(), planned_peak_bytes(program, binding));
  EXPECT_THROW(planned_peak_bytes(program, {}), std::invalid_argument);
}

TEST(MemoryPlan, OfMicroBatchesOneAfterAnotherNeedsWhatOneNeeds) {
  const auto activations = [](int micro_batches, std::optional<double> capacity_factor, int parts) {
    Model model = all_moe_model(DType::f32, 8);
    model.micro_batches = micro_batches;
    model.global_batch = model.capacity_groups = 2 * micro_batches;
    model.capacity_factor = capacity_factor;
    const Groups groups = make_groups(1, 1);
    Schedule schedule;
    for (int layer = 0; parts > 1 && layer < model.blocks; ++layer) {
      schedule.decisions.push_back(PartitionRange{layer, parts, 0, 1});
    }
    const Program program = apply(build_iteration(model, groups, 0), schedule);
    MemoryPlan plan(program, start_rule(program));
    plan.advance(bind(program, uniform(model, 1), groups, 0));
    return static_cast<double>(plan.peak_bytes() - plan.activations_begin());
  };
  for (const std::optional<double> capacity_factor :
       {std::optional(1.25), std::optional<double>()}) {
    for (const int parts : {1, 2}) {
      const double one = activations(1, capacity_factor, parts);
      for (const int micro_batches : {8, 32}) {
        EXPECT_NEAR(activations(micro_batches, capacity_factor, parts), one, 0.01 * one)
            << micro_batches << " micro-batches, dropless " << !capacity_factor.has_value() << ", "
            << parts << " parts";
      }
    }
  }
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
