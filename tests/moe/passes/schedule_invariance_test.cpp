// The heart of the project: whatever the schedule and however many ranks, training computes the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/gate_choice.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "tests/moe/passes/random_draw.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::schedule_invariance_test {
namespace {

constexpr int kRanks[] = {1, 2, 4, 7};  // that divide the small model
/// The differences that rounding explains when sums are taken in another order.
constexpr double kDouble = 1e-12;
constexpr double kFloat = 1e-5;
constexpr double kLater = 1e-4;  ///< of losses after updates
constexpr int kSteps = 5;

const Schedule kSequential{"sequential", {}};

/// Values that are rounded to 8 bits in another order: their sums lie further apart, and a token
/// whose experts are nearly alike may go to another one.
constexpr double kBf16 = 4e-3, kBf16Later = 2e-2;

double tolerance(DType dtype) {
  return dtype == DType::f64 ? kDouble : dtype == DType::bf16 ? kBf16 : kFloat;
}

/// Whether rounding changes gradients little. In bf16 it can send a token to another expert, and
/// switch a unit of relu on or off.
bool has_smooth_gradients(const Model& model) {
  if (model.dtype != DType::bf16) return true;
  return model.gate == "hash" && model.activation != Activation::relu;
}

/// The decisions of a schedule that change results.
Schedule changing(const Schedule& schedule) {
  Schedule kept{"changing", {}};
  for (const Decision& decision : schedule.decisions) {
    if (std::visit([](const auto& one) { return one.changes_results; }, decision)) {
      kept.decisions.push_back(decision);
    }
  }
  return kept;
}

/// By how much the gradients of a draw may differ from those of the sequential training. Two ways
/// to round to bf16 may lie further apart than usual where gradients nearly cancel; then each of
/// them is as far from what f64 gives.
double gradient_tolerance(const Draw& draw, const Outcome& reference, double difference) {
  const double usual = 10 * tolerance(draw.model.dtype);
  if (draw.model.dtype != DType::bf16 || difference < usual) return usual;
  Model wide = draw.model;
  wide.dtype = DType::f64;
  const Outcome exact = train_small(wide, changing(draw.schedule), 1, kSteps);
  return std::max(usual, 2 * largest_difference(reference, exact));
}

/// How a draw breaks the property; empty where it holds.
std::string violation(const Draw& draw) {
  const Outcome reference = train_small(draw.model, changing(draw.schedule), 1, kSteps);
  const Schedule& later = draw.later ? *draw.later : draw.schedule;
  const Outcome outcome = train_in_turn(draw.model, {draw.schedule, draw.schedule, later},
                                        make_groups(draw.layout, draw.node_of), kSteps);
  const double limit = tolerance(draw.model.dtype);
  std::string text;
  const auto hold_together = [&](const char* what, double value, double expected, double most) {
    const double difference = std::abs(value - expected);
    if (!(difference <= most * std::abs(expected))) {
      text += std::string(what) + ": " + std::to_string(value) + " instead of " +
              std::to_string(expected) + "\n";
    }
  };
  hold_together("loss", outcome.losses[0], reference.losses[0], limit);
  hold_together("auxiliary loss", outcome.auxiliary_losses[0], reference.auxiliary_losses[0],
                limit);
  hold_together("z loss", outcome.z_losses[0], reference.z_losses[0], limit);
  if (draw.model.clip_norm) {
    hold_together("gradient norm", outcome.gradient_norms.at(0), reference.gradient_norms.at(0),
                  10 * limit);
  }
  for (int step = 1; step < kSteps; ++step) {  // these have gone through updates
    hold_together("later loss", outcome.losses[step], reference.losses[step],
                  draw.model.dtype == DType::bf16 ? kBf16Later : kLater);
  }
  if (!has_smooth_gradients(draw.model)) return text;
  if (const double difference = largest_difference(outcome, reference);
      !(difference < gradient_tolerance(draw, reference, difference))) {
    text += "gradients differ by " + std::to_string(difference) + "\n";
  }
  // After updates, rounding of fewer bits than f64's may send a token to another expert.
  const std::size_t exact_steps = draw.model.dtype == DType::f64 ? kSteps : 1;
  for (std::size_t step = 0; step < exact_steps; ++step) {
    if (outcome.dropped.at(step) == reference.dropped.at(step)) continue;
    text += "step " + std::to_string(step) + " dropped " + std::to_string(outcome.dropped[step]) +
            " copies instead of " + std::to_string(reference.dropped[step]) + "\n";
  }
  return text;
}

/// The simplest draw on the way down from a failing one that still fails.
Draw shrink(Draw draw) {
  const auto fails = [](const Draw& candidate) {
    try {
      return !violation(candidate).empty();
    } catch (const Refusal&) {
      return false;  // illegal, and so no simpler case of the same
    }
  };
  const auto divided = [](const Layout& layout) {
    return [=](Draw& d) {
      d.layout = layout;
      d.node_of.clear();
    };
  };
  const std::vector<std::function<void(Draw&)>> simpler{
      divided({1, 2, 1, 1}),
      divided({1, 1, 2, 1}),
      divided({1, 2, 1, 2}),
      divided({2, 1, 1, 1}),
      divided({1, 1, 1, 1}),
      [](Draw& d) { d.later.reset(); },
      [](Draw& d) {
        d.layout.pipeline = 1;
        d.node_of.clear();
      },
      [](Draw& d) { d.layout.tensor = 1; },
      [](Draw& d) {
        d.layout.expert_sharded = 1;
        d.node_of.clear();
      },
      [](Draw& d) { d.node_of.clear(); },
      [](Draw& d) {
        for (Decision& decision : d.schedule.decisions) {
          if (auto* split = std::get_if<PipelineSplit>(&decision)) split->ranks_per_group = 0;
        }
      },
      [](Draw& d) { d.model.own.erase("block_pattern"); },
      [](Draw& d) { d.model.dense_blocks = 0; },
      [](Draw& d) { d.model.blocks = d.model.moe_every; },
      [](Draw& d) { d.model.micro_batches = 1; },
      [](Draw& d) { d.model.shared_experts = 0; },
      [](Draw& d) { d.model.expert = "gpt"; },
      [](Draw& d) { d.model.activation = Activation::gelu; },
      [](Draw& d) { d.model.d_expert.reset(); },
      [](Draw& d) { d.model.norm = Norm::layer_norm; },
      [](Draw& d) { d.model.positions = Positions::learned; },
      [](Draw& d) { d.model.head = Head::untied; },
      [](Draw& d) { d.model.biases = true; },
      [](Draw& d) { d.model.key_value_heads.reset(); },
      [](Draw& d) { d.model.choices = 1; },
      [](Draw& d) { d.model.gate = "softmax"; },
      [](Draw& d) { d.model.drop = Drop::choice; },
      [](Draw& d) { d.model.z_loss_weight = 0; },
      [](Draw& d) { d.model.order = "sparse"; },
      [](Draw& d) { d.model.hooks.clear(); },
      [](Draw& d) { d.model.capacity_factor.reset(); },
      [](Draw& d) { d.model.optimizer = Optimizer::sgd; },
      [](Draw& d) { d.model.clip_norm.reset(); },
      [](Draw& d) { d.model.weight_decay.reset(); },
      [](Draw& d) { d.model.learning_rate_schedule = RateSchedule::constant; },
      [](Draw& d) { d.model.warmup_steps = 0; },
      [](Draw& d) { d.model.heads = 1; },
      [](Draw& d) { d.model.dtype = DType::f64; }};
  for (bool changed = true; changed;) {
    changed = false;
    const auto try_on = [&](const auto& change) {
      Draw candidate = draw;
      change(candidate);
      try {
        keep_streams_there(candidate);
      } catch (const Refusal&) {
        return;
      }
      if (describe(candidate) == describe(draw) || !fails(candidate)) return;
      draw = std::move(candidate);
      changed = true;
    };
    for (std::size_t i = draw.schedule.decisions.size(); i-- > 0;) {
      try_on([&](Draw& d) {
        if (i < d.schedule.decisions.size()) {
          d.schedule.decisions.erase(d.schedule.decisions.begin() + static_cast<std::ptrdiff_t>(i));
        }
      });
    }
    for (const auto& change : simpler) try_on(change);
  }
  return draw;
}

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
    if (violation(draw).empty()) continue;
    const Draw simplest = shrink(draw);
    FAIL() << "draw " << i << ", shrunk:\n" << violation(simplest) << describe(simplest);
  }
}

/// As above in bf16, with a quarter of them. Every other one has a gate that does not depend on
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
    if (violation(draw).empty()) continue;
    const Draw simplest = shrink(draw);
    FAIL() << "draw " << i << ", shrunk:\n" << violation(simplest) << describe(simplest);
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
/// refused leaves results as they were. MOELAB_DRAWS draws (80 where it is not set), from seed
/// MOELAB_SEED.
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

TEST(ScheduleInvariance, DrawsShardedOptimizersThatBeginAndEndBetweenSteps) {
  std::mt19937 random(5);
  int sharded = 0, changing = 0;
  for (int i = 0; i < 100; ++i) {
    const Draw draw = random_draw(random);
    const auto shards = [](const Schedule& schedule) {
      return !decisions_of<ShardOptimizer>(schedule).empty();
    };
    if (shards(draw.schedule)) ++sharded;
    if (draw.later && shards(*draw.later) != shards(draw.schedule)) ++changing;
  }
  EXPECT_GT(sharded, 10);
  EXPECT_GT(changing, 3);
}

TEST(ScheduleInvariance, DrawsRanksThatHaveExpertsUnevenly) {
  std::mt19937 random(5);
  int dropless = 0, by_capacity = 0, shared = 0, placed = 0;
  for (int i = 0; i < 100; ++i) {
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

TEST(ScheduleInvariance, EveryPairOfDegreesGivesTheSameGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Model model = small_model(dtype);
    model.capacity_factor = 1.25;
    const Outcome reference = train_small(model, kSequential, 1, 1);
    for (int forward = 1; forward <= 4; ++forward) {
      for (int backward = 1; backward <= 4; ++backward) {
        const Outcome outcome = train_small(model, chunked(model, forward, backward), 2, 1);
        EXPECT_NEAR(outcome.losses[0], reference.losses[0], tolerance(dtype) * reference.losses[0]);
        EXPECT_LT(largest_difference(outcome, reference), tolerance(dtype))
            << forward << " forward, " << backward << " backward";
      }
    }
  }
}

TEST(ScheduleInvariance, StreamsAloneChangeNoBit) {
  const Model model = small_model(DType::f32);
  const Schedule streams{"streams",
                         {StreamAssignment{"all_to_all", Stream::inter_node},
                          StreamAssignment{"all_reduce", Stream::intra_node}}};
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 3);
    const Program program = build_iteration(model, make_groups(ranks, ranks), 0);
    const Outcome other = train_small(model, with_streams_of(program, streams), ranks, 3);
    EXPECT_EQ(one.losses, other.losses);
    EXPECT_EQ(one.gradients, other.gradients);
  }
}

TEST(ScheduleInvariance, ForwardChunksChangeNoBitOfTheLoss) {
  // Rows do not know of each other in forward, and double's matrix product sums each row alike.
  const Model model = small_model(DType::f64);
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 1);
    for (const int chunks : {2, 3, 4}) {
      EXPECT_EQ(one.losses, train_small(model, chunked(model, chunks, 1), ranks, 1).losses);
    }
  }
}

TEST(ScheduleInvariance, ExpertsThatComputeGroupByGroupGiveTheSameGradients) {
  // Every row is computed as it was; only weight gradients add up in the order of the groups.
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, kSequential, 1, 3);
  for (const int ranks : {2, 4, 7}) {
    for (const int size : divisors(ranks)) {
      Schedule schedule = chunked(model, ranks / size, ranks / size);
      for (Decision& decision : schedule.decisions) {
        if (auto* split = std::get_if<PipelineSplit>(&decision)) split->ranks_per_group = size;
      }
      const Outcome outcome = train_small(model, schedule, ranks, 3);
      EXPECT_EQ(outcome.losses[0], train_small(model, kSequential, ranks, 1).losses[0]);
      EXPECT_NEAR(outcome.losses[2], reference.losses[2], kDouble * reference.losses[2]);
      EXPECT_LT(largest_difference(outcome, reference), 10 * kDouble)
          << ranks << " ranks in groups of " << size;
    }
  }
}

TEST(ScheduleInvariance, TwentyStepsStayTogether) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1.25;
  model.learning_rate = 3e-3;
  const Outcome reference = train_small(model, kSequential, 1, 20);
  EXPECT_LT(reference.losses.back(), reference.losses.front() - 0.3) << "it should learn";
  for (const int ranks : kRanks) {
    const Outcome outcome = train_small(model, chunked(model, 3, 2), ranks, 20);
    for (int step = 0; step < 20; ++step) {
      EXPECT_NEAR(outcome.losses[step], reference.losses[step], 1e-4)
          << ranks << " ranks, step " << step;
    }
  }
}

TEST(ScheduleInvariance, ExpertsHeldByTwoGroupsGiveTheSameGradients) {
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, kSequential, 1, 1);
  const Outcome outcome = train_small(model, chunked(model, 2, 3), Layout{2, 2, 1}, 1);
  EXPECT_NEAR(outcome.losses[0], reference.losses[0], kDouble * reference.losses[0]);
  EXPECT_LT(largest_difference(outcome, reference), kDouble);
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

TEST(ScheduleInvariance, MeasuredSpansAreTheProgramsOpsInTheOrderOfTheirStreams) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  for (const Route route : {Route::flat, Route::one_d, Route::two_d, Route::pairwise}) {
    Schedule schedule = chunked(model, 3, 2);
    schedule.decisions.push_back(Exchange{1, Phase::forward, {}, route, 2});
    schedule.decisions.push_back(Exchange{1, Phase::backward, {}, route, 1});
    schedule.decisions.push_back(StreamAssignment{"exchange_in_node", Stream::intra_node});
    schedule.decisions.push_back(StreamAssignment{"exchange_across_nodes", Stream::inter_node});
    const Program sequential = build_iteration(model, groups, 0);
    schedule = with_streams_of(sequential, schedule);
    const Outcome outcome = train_small(model, schedule, groups, 1);
    const Program program = apply(sequential, schedule);
    for (const auto& spans : outcome.timeline.ranks) {
      ASSERT_EQ(spans.size(), program.ops.size());
      std::array<double, kStreamCount> end{};
      for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_EQ(spans[i].op, static_cast<int>(i));
        auto& last = end[static_cast<std::size_t>(program.ops[i].stream)];
        EXPECT_GE(spans[i].start_s, last);
        last = spans[i].start_s + spans[i].duration_s;
      }
      const auto waits = dependencies(program);
      for (std::size_t i = 0; i < spans.size(); ++i) {
        for (const int earlier : waits[i]) {
          EXPECT_GE(spans[i].start_s, spans[earlier].start_s + spans[earlier].duration_s);
        }
      }
    }
  }
}

}  // namespace
}  // namespace moe::test::schedule_invariance_test
