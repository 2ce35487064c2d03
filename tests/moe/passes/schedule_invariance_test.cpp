// The heart of the project: whatever the schedule and however many ranks, training computes the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/gate_choice.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "tests/moe/passes/draw_violation.h"
#include "tests/moe/passes/random_draw.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::schedule_invariance_test {
namespace {

int number(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : fallback;
}

/// MOELAB_DRAWS draws (200 where it is not set), from seed MOELAB_SEED.
TEST(ScheduleInvariance, RandomSchedulesOfRandomModelsOnAnyRanksGiveTheSequentialLossAndGradients) {
  const int draws = number("MOELAB_DRAWS", 200);
  std::mt19937 random(static_cast<unsigned>(number("MOELAB_SEED", 20240601)));
  for (int i = 0; i < draws; ++i) {
    const Draw draw = random_draw(random);
    const std::string wrong = violation(draw);
    if (wrong.empty()) continue;
    const Draw simplest = shrink(draw);
    FAIL() << "draw " << i << ":\n"
           << wrong << describe(draw) << "\nshrunk:\n"
           << violation(simplest) << describe(simplest);
  }
}

/// As above in bf16, with a quarter of the draws. Every other one has a gate that does not depend on
/// rounding, so that gradients agree too, unless units of relu switch.
TEST(ScheduleInvariance, RandomSchedulesInBf16GiveTheSequentialLossAndGradients) {
  const int draws = number("MOELAB_DRAWS", 200) / 4;
  std::mt19937 random(static_cast<unsigned>(number("MOELAB_SEED", 20240602)));
  int trained = 0;
  for (int i = 0; i < draws; ++i) {
    Draw draw = random_draw(random);
    draw.model.dtype = DType::bf16;
    if (i % 2 == 0) {
      draw.model.gate = "hash";
      draw.model.own.clear();
      draw.model.auxiliary_weight = draw.model.z_loss_weight = 0;
    }
    // Rows that are in bf16 are not packed as bf16, and those in 8 bits step further.
    const auto packs = [](const Decision& decision) {
      return std::holds_alternative<CompressExchange>(decision);
    };
    std::erase_if(draw.schedule.decisions, packs);
    if (draw.later) std::erase_if(draw.later->decisions, packs);
    try {
      keep_streams_there(draw);
    } catch (const Refusal&) {
      continue;  // what the gate or the type does not allow
    }
    ++trained;
    const std::string wrong = violation(draw);
    if (wrong.empty()) continue;
    const Draw simplest = shrink(draw);
    FAIL() << "draw " << i << ":\n"
           << wrong << describe(draw) << "\nshrunk:\n"
           << violation(simplest) << describe(simplest);
  }
  EXPECT_GT(trained, draws / 2);
}

/// The same decisions with one number changed, with a decision left out or repeated, or with one
/// taken from another draw. Throws InputError where the result is not a Schedule.
Schedule bent(const Schedule& schedule, const Schedule& other, std::mt19937& random) {
  const auto below = [&](std::size_t count) { return random() % count; };
  nlohmann::json json = nlohmann::json::parse(to_json(schedule));
  nlohmann::json& decisions = json.at("decisions");
  const nlohmann::json others = nlohmann::json::parse(to_json(other)).at("decisions");
  if (decisions.empty() || below(4) == 0) {
    if (!others.empty()) decisions.push_back(others[below(others.size())]);
  } else if (below(4) == 0) {
    decisions.erase(below(decisions.size()));
  } else if (below(4) == 0) {
    decisions.push_back(decisions[below(decisions.size())]);
  } else {
    nlohmann::json& decision = decisions[below(decisions.size())];
    std::vector<nlohmann::json*> numbers;
    for (auto& [key, value] : decision.items()) {
      if (value.is_number_integer()) numbers.push_back(&value);
    }
    if (!numbers.empty()) *numbers[below(numbers.size())] = static_cast<int>(below(12)) - 1;
  }
  return schedule_from_json(json.dump());
}

/// An illegal Schedule is refused with a reason before anything is computed. A Schedule that is not
/// refused leaves results as they were. Half of MOELAB_DRAWS draws (50 where it is not set), from
/// seed MOELAB_SEED.
TEST(ScheduleInvariance, BentSchedulesAreRefusedOrGiveTheSequentialLossAndGradients) {
  const int draws = number("MOELAB_DRAWS", 100) / 2;
  std::mt19937 random(static_cast<unsigned>(number("MOELAB_SEED", 20261122)));
  int refused = 0, the_same = 0;
  for (int i = 0; i < draws; ++i) {
    Draw draw = random_draw(random);
    const Schedule other = random_draw(random).schedule;
    draw.later.reset();
    bool legal = true;
    try {
      draw.schedule = bent(draw.schedule, other, random);
      apply(build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0), draw.schedule);
    } catch (const InputError&) {
      ++refused;
      continue;
    } catch (const Refusal& error) {
      EXPECT_NE(error.way_out, "") << error.what();
      legal = false;
    }
    if (legal) {
      EXPECT_EQ(violation(draw), "") << "draw " << i << describe(draw);
      ++the_same;
    } else {
      EXPECT_THROW(violation(draw), Refusal) << "draw " << i << describe(draw);
      ++refused;
    }
  }
  EXPECT_GT(refused, draws / 8);
  EXPECT_GT(the_same, draws / 8);
}

TEST(ScheduleInvariance, ADrawThatFailsIsShrunkInAFewSteps) {
  std::mt19937 random(5);
  int tried = 0;
  for (int i = 0; i < 10; ++i) {
    const Draw draw = random_draw(random);
    const auto all_fail = [&](const Draw&) { return ++tried > 0; };
    const Draw simplest = shrink(draw, all_fail);
    EXPECT_EQ(rank_count(simplest.layout), 1);
    EXPECT_TRUE(simplest.schedule.decisions.empty()) << describe(simplest);
    EXPECT_LE(tried, kMostShrinkings);
    tried = 0;
    const auto refused = [&](const Draw& one) -> bool {
      throw Refusal("draw", std::to_string(++tried), describe(one));
    };
    EXPECT_EQ(describe(shrink(draw, refused)), describe(draw));
    EXPECT_LE(tried, kMostShrinkings);
    tried = 0;
  }
}

TEST(ScheduleInvariance, DrawsRangesOverGatesAndAfterThoseThatNeedTheWholeBatch) {
  std::mt19937 random(5);
  int over = 0, after = 0;
  for (int i = 0; i < 240; ++i) {
    const Draw draw = random_draw(random);
    const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
    for (const PartitionRange& range : decisions_of<PartitionRange>(draw.schedule)) {
      const bool whole = std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
        return op.layer == range.layer && refusal_to_cut(op).has_value();
      });
      ++(whole ? after : over);
    }
  }
  EXPECT_GT(over, 3);
  EXPECT_GT(after, 3);
}

TEST(ScheduleInvariance, DrawsGroupsOfMicroBatchesWithOtherDecisionsAndRanks) {
  std::mt19937 random(5);
  int of_all = 0, smaller = 0, on_ranks = 0, with_chunks = 0;
  for (int i = 0; i < 200; ++i) {
    const Draw draw = random_draw(random);
    for (const auto& ordering : decisions_of<OrderMicroBatches>(draw.schedule)) {
      if (ordering.order != MicroBatchOrder::in_groups) continue;
      const bool all = ordering.group_size == 0 || ordering.group_size == draw.model.micro_batches;
      ++(all ? of_all : smaller);
      if (rank_count(draw.layout) > 1) ++on_ranks;
      if (!decisions_of<PipelineSplit>(draw.schedule).empty()) ++with_chunks;
    }
  }
  EXPECT_GT(of_all, 3);
  EXPECT_GT(smaller, 1);
  EXPECT_GT(on_ranks, 3);
  EXPECT_GT(with_chunks, 3);
}

bool orders_a_v(const Schedule& schedule) {
  const auto placed = decisions_of<PlaceBlocks>(schedule);
  return !placed.empty() && placed.front().stages.back() == 0 &&
         !decisions_of<OrderMicroBatches>(schedule).empty();
}

bool shards_the_optimizer(const Schedule& schedule) {
  return !decisions_of<ShardOptimizer>(schedule).empty();
}

TEST(ScheduleInvariance, DrawsDecisionsThatBeginAndEndBetweenSteps) {
  struct Question {
    const char* name;
    bool (*decides)(const Schedule&);
    int least, least_changing;  // draws that decide it, and draws in which that changes
    int deciding = 0, changing = 0;
  };
  Question questions[]{{"a V in its order", orders_a_v, 1, 1},
                       {"a sharded optimizer", shards_the_optimizer, 30, 10}};
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const Draw draw = random_draw(random);
    for (Question& question : questions) {
      const bool now = question.decides(draw.schedule);
      question.deciding += now;
      question.changing += draw.later && question.decides(*draw.later) != now;
    }
  }
  for (const Question& question : questions) {
    EXPECT_GE(question.deciding, question.least) << question.name;
    EXPECT_GE(question.changing, question.least_changing) << question.name;
  }
}

TEST(ScheduleInvariance, DrawsReplicasChosenAfterTheGateByEachRuleWithOtherDecisions) {
  std::mt19937 random(6);
  std::map<LateRule, int> by_rule;
  int in_nodes = 0, in_micro_batches = 0, in_chunks = 0, in_parts = 0, shared = 0, approximate = 0;
  for (int i = 0; i < 500; ++i) {
    const Draw draw = random_draw(random);
    for (const auto& replicating : decisions_of<ReplicateExperts>(draw.schedule)) {
      if (replicating.placement.balanced_by == BalancedBy::interior_point) ++approximate;
      if (!is_late(replicating.placement)) continue;
      if (replicating.placement.late.slots_of == SlotsOf::all_layers) ++shared;
      ++by_rule[replicating.placement.late.rule];
      if (replicating.placement.late.domain == LateDomain::node) ++in_nodes;
      if (draw.model.micro_batches > 1) ++in_micro_batches;
      if (!decisions_of<PipelineSplit>(draw.schedule).empty()) ++in_chunks;
      if (!decisions_of<PartitionRange>(draw.schedule).empty()) ++in_parts;
    }
  }
  EXPECT_EQ(by_rule.size(), 3);
  for (const auto& [rule, draws] : by_rule) EXPECT_GT(draws, 3);
  EXPECT_GT(in_nodes, 3);
  EXPECT_GT(in_micro_batches, 3);
  EXPECT_GT(in_chunks, 3);
  EXPECT_GT(in_parts, 0);
  EXPECT_GT(shared, 3);
  EXPECT_GT(approximate, 0);
}

TEST(ScheduleInvariance, DrawsRanksThatHaveExpertsUnevenly) {
  std::mt19937 random(5);
  int dropless = 0, by_capacity = 0, shared = 0, placed = 0;
  for (int i = 0; i < 300; ++i) {
    const Draw draw = random_draw(random);
    if (draw.model.experts % draw.layout.expert == 0) continue;
    ++(draw.model.capacity_factor ? by_capacity : dropless);
    if (draw.layout.expert_sharded > 1) ++shared;
    if (!decisions_of<PlaceExperts>(draw.schedule).empty() ||
        !decisions_of<ReplicateExperts>(draw.schedule).empty()) {
      ++placed;
    }
  }
  EXPECT_GT(dropless, 3);
  EXPECT_GT(by_capacity, 1);
  EXPECT_GT(shared, 0);
  EXPECT_GT(placed, 3);
}

TEST(ScheduleInvariance, PlannedPeakIsTouchedAndNothingBeyondIt) {
  std::mt19937 random(7);
  for (int i = 0; i < 12; ++i) {
    const Draw draw = random_draw(random);
    const Groups groups = make_groups(draw.layout, draw.node_of);
    const Outcome outcome = train_small(draw.model, draw.schedule, groups, 1);
    for (int rank = 0; rank < groups.ranks; ++rank) {
      // The plan made beforehand from this routing says the same.
      const Program whole = apply(build_iteration(draw.model, groups, rank), draw.schedule);
      const Program program = stage_program(whole, stage_of(groups, rank)).program;
      const Binding binding = bind(program, outcome.routing, groups, rank);
      EXPECT_EQ(planned_peak_bytes(program, binding), outcome.planned_peaks[rank])
          << describe(draw);
      EXPECT_EQ(planned_peak_bytes(program, binding, Pool::host), outcome.planned_host_peaks[rank])
          << describe(draw);
      EXPECT_LE(outcome.touched_host_peaks[rank], outcome.planned_host_peaks[rank])
          << describe(draw);
      // Room for rows or replicas that did not come is left as it was.
      if (draw.model.capacity_factor || !decisions_of<ReplicateExperts>(draw.schedule).empty()) {
        EXPECT_LE(outcome.touched_peaks[rank], outcome.planned_peaks[rank]) << describe(draw);
      } else {
        EXPECT_EQ(outcome.touched_peaks[rank], outcome.planned_peaks[rank]) << describe(draw);
      }
    }
  }
}

}  // namespace
}  // namespace moe::test::schedule_invariance_test
