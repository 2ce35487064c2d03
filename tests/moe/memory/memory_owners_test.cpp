#include "moe/memory/memory_owners.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/program/row_handling.h"
#include "tests/moe/train/training_case.h"

namespace moe::memory_owners_test {
namespace {

Program program_of(const Model& model, const Groups& groups, const Schedule& schedule = {}) {
  return apply(build_iteration(model, groups, 0), schedule);
}

/// Exchanges whose rows stay where they are, and all.
struct Exchanges {
  int in_place = 0, all = 0;
};
Exchanges exchanges(const Program& program) {
  const std::vector<TensorId> owners = memory_owners(program);
  Exchanges found;
  for (const Op& op : program.ops) {
    if (!std::holds_alternative<AllToAll>(op.kind)) continue;
    ++found.all;
    if (owners[op.writes[0].tensor] == op.reads[0].tensor) ++found.in_place;
  }
  return found;
}

TEST(MemoryOwners, OfRowsThatARankExchangesWithItselfAreWhatItSends) {
  for (const bool dropless : {false, true}) {
    Model model = test::all_moe_model(DType::bf16, 3);
    if (!dropless) model.capacity_factor = 1.5;
    for (const Schedule& schedule : {Schedule{}, test::chunked(model, 3, 2)}) {
      const Exchanges alone = exchanges(program_of(model, make_groups(Layout{4, 1, 1}), schedule));
      EXPECT_GT(alone.all, 0);
      EXPECT_EQ(alone.in_place, alone.all);
      EXPECT_EQ(exchanges(program_of(model, make_groups(Layout{1, 2, 1}), schedule)).in_place, 0);
    }
  }
}

TEST(MemoryOwners, AreNotTakenWhereABufferHoldsOneSliceAtATime) {
  const Model model = test::small_model(DType::f32);
  Schedule schedule = test::chunked(model, 3, 3);
  schedule.decisions.push_back(
      RestoreActivation{1, RestoreDispatched::communicate, RestoreHidden::recompute});
  const Exchanges found = exchanges(program_of(model, make_groups(Layout{1, 1, 1}), schedule));
  EXPECT_LT(found.in_place, found.all);
}

/// What is exchanged is written anew afterwards, or what arrives is written by another op.
TEST(MemoryOwners, AreThemselvesWhereEitherIsWrittenLater) {
  Program program = program_of(test::small_model(DType::f32), make_groups(Layout{1, 1, 1}));
  std::size_t at = 0;
  while (!std::holds_alternative<AllToAll>(program.ops[at].kind)) ++at;
  const Use sent = program.ops[at].reads[0], received = program.ops[at].writes[0];
  ASSERT_EQ(memory_owners(program)[received.tensor], sent.tensor);
  for (const Use& written : {sent, received}) {
    Program changed = program;
    Op later = program.ops[at - 1];
    later.writes = {written};
    changed.ops.insert(changed.ops.begin() + static_cast<std::ptrdiff_t>(at) + 1, later);
    EXPECT_EQ(memory_owners(changed)[received.tensor], received.tensor);
  }
}

TEST(MemoryOwners, TakeOnePlaceInThePlan) {
  Model model = test::small_model(DType::f32);
  model.capacity_factor = 1;
  const Groups groups = make_groups(Layout{1, 1, 1});
  const Program program = program_of(model, groups);
  MemoryPlan plan(program, start_rule(program));
  plan.advance(bind(program,
                    {{uniform_routing(1, 1, model.experts,
                                      model.global_batch * model.sequence_length * model.choices)}},
                    groups, 0));
  for (const Op& op : program.ops) {
    if (!std::holds_alternative<AllToAll>(op.kind)) continue;
    EXPECT_EQ(plan.offset(op.reads[0].tensor), plan.offset(op.writes[0].tensor));
    EXPECT_EQ(plan.end(op.reads[0].tensor), plan.end(op.writes[0].tensor));
  }
}

}  // namespace
}  // namespace moe::memory_owners_test
