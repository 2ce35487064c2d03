// The heart of the project: whatever the schedule and however many ranks, training computes the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/model/orders/orders.h"
#include "moe/program/stage_program.h"
#include "moe/run/memory_plan.h"
#include "tests/moe/train/training_case.h"

namespace moe::testing {
namespace {

constexpr int kRanks[] = {1, 2, 4, 7};  // that divide the small model
constexpr int kDrawnRanks[] = {1, 2, 3, 4, 6, 7, 8};
/// What rounding explains when sums are taken in another order.
constexpr double kDouble = 1e-12;
constexpr double kFloat = 1e-5;
constexpr double kLater = 1e-4;  ///< of losses after updates
constexpr int kSteps = 5;

const Schedule kSequential{"sequential", {}};

double tolerance(DType dtype) { return dtype == DType::f64 ? kDouble : kFloat; }

/// One draw of the property: this model under this schedule on these ranks computes what it does in
/// sequence on one rank, under what of the schedule changes results.
struct Draw {
  Model model;
  Schedule schedule;
  Layout layout;
  std::vector<int> node_of{};  ///< empty: all on one node
};

std::string describe(const Draw& draw) {
  std::string nodes;
  for (const int node : draw.node_of) nodes += ' ' + std::to_string(node);
  return to_json(draw.model) + "\n" + to_json(draw.schedule) + "\nlayout " + to_text(draw.layout) +
         " on nodes" + nodes;
}

/// What the papers' models differ in: norms, positions, heads, networks.
void draw_architecture(std::mt19937& random, Model& model) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  if (one_in(2)) model.norm = Norm::rms_norm;
  if (one_in(2)) model.positions = Positions::rotary;
  if (one_in(2)) model.head = Head::tied;
  if (one_in(2)) model.biases = false;
  if (one_in(2)) model.key_value_heads = model.heads > 1 && one_in(2) ? model.heads / 2 : 1;
  model.expert = experts()[random() % experts().size()].name;
  if (one_in(2)) model.activation = Activation::relu;
  if (one_in(3)) model.d_expert = 12;
  if (one_in(3)) model.shared_experts = one_in(2) ? 1 : 2;
  if (one_in(3) && model.blocks > model.moe_every) model.dense_blocks = 1;
}

Model random_model(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int> values) {
    return values.begin()[random() % values.size()];
  };
  Model model = small_model(pick({0, 1}) ? DType::f64 : DType::f32);
  model.sequence_length = pick({4, 6, 9});
  model.heads = pick({1, 2, 4});
  model.d_model = 8 * pick({1, 2, 3});
  model.d_hidden = pick({8, 20, 33, 28});
  model.experts = pick({24, 28});
  model.micro_batches = pick({1, 1, 2, 3});
  // For 3, 6 and 8 ranks, or for 7.
  model.global_batch = model.capacity_groups = pick({24, 28}) * model.micro_batches;
  model.blocks = pick({1, 2, 3});
  model.moe_every = pick({1, 2});
  if (model.blocks < model.moe_every) model.moe_every = 1;
  const Gate& gate = gates()[random() % gates().size()];
  model.gate = gate.name;
  // In float two experts may be as near to each other as rounding is: the sigmoids of a model at its
  // beginning nearly always, the more so the more choices there are.
  if (model.gate == "bias_adjusted") model.dtype = DType::f64;
  model.choices = model.dtype == DType::f64 ? pick({1, 2, 3, 7}) : pick({1, 2});
  model.drop = gate.facts.scores_tokens ? static_cast<Drop>(pick({0, 1, 2}))
                                        : static_cast<Drop>(pick({0, 1}));
  if (gate.facts.scores_tokens && pick({0, 1})) model.z_loss_weight = 0.01;
  model.capacity_factor = pick({0, 1}) ? std::optional<double>(pick({1, 2}) * 0.75) : std::nullopt;
  model.order = orders()[random() % orders().size()].name;
  const Chooser chooser = gate_named(model.gate).facts.chooser;
  if (takes_whole_groups(chooser)) model.capacity_factor = pick({1, 4});
  if (chooser == Chooser::nobody) model.order = "einsum";
  // The one hook that is the same on any ranks: rounding makes steps of the least differences.
  if (pick({0, 1})) model.hooks["before_moe_start"] = "jitter";
  model.optimizer = pick({0, 1}) ? Optimizer::adam : Optimizer::sgd;
  model.seed = static_cast<std::int64_t>(random() % 1000);
  draw_architecture(random, model);
  return model;
}

int random_divisor(std::mt19937& random, int of, std::initializer_list<std::int64_t> and_of) {
  std::vector<int> divisors;
  for (int n = 1; n <= of; ++n) {
    if (of % n == 0 &&
        std::all_of(and_of.begin(), and_of.end(), [&](std::int64_t all) { return all % n == 0; })) {
      divisors.push_back(n);
    }
  }
  return divisors[random() % divisors.size()];
}

Layout random_layout(std::mt19937& random, const Model& model) {
  int ranks = 0, stages = 1;
  while (ranks == 0 || model.global_batch / model.micro_batches % ranks != 0) {
    ranks = kDrawnRanks[random() % std::size(kDrawnRanks)];
    stages = 1 + static_cast<int>(random() % static_cast<unsigned>(model.blocks));
    if (ranks % stages != 0 || model.head == Head::tied) stages = 1;
    ranks /= stages;
  }
  const int shards = random_divisor(random, ranks, {expert_hidden(model)});
  const int experts = random_divisor(random, ranks / shards, {model.experts});
  const int tensor = random_divisor(
      random, ranks,
      {key_value_heads(model), model.d_hidden, model.shared_experts * expert_hidden(model)});
  return {ranks / shards / experts, experts, shards, tensor, stages};
}

/// Nodes that have as many ranks of an expert group as each other: blocks of ranks, or in turn.
std::vector<int> random_nodes(std::mt19937& random, const Layout& layout) {
  const int nodes = random_divisor(random, layout.expert, {layout.expert});
  const int on_node = layout.expert / nodes;
  const bool in_turn = random() % 2 == 0;
  std::vector<int> node_of;
  for (int rank = 0; rank < rank_count(layout); ++rank) {
    const int place = rank / layout.expert_sharded;  // of data and expert
    node_of.push_back(in_turn ? place % nodes : place / on_node);
  }
  return node_of;
}

Exchange random_exchange(std::mt19937& random, int block, Phase phase, const Layout& layout) {
  Exchange exchange{block, phase, {}, static_cast<Route>(random() % 4), 0};
  if (random() % 2) exchange.direction = static_cast<Direction>(random() % 2);
  if (exchange.route == Route::pairwise) {
    exchange.ranks_per_group = random_divisor(random, layout.expert, {layout.expert});
  }
  return exchange;
}

Schedule random_schedule(std::mt19937& random, const Model& model, const Layout& layout) {
  Schedule schedule{"random", {}};
  for (int block = 0; block < model.blocks; ++block) {
    if (has_experts(model, block)) {
      for (const Phase phase : {Phase::forward, Phase::backward}) {
        if (random() % 2 == 0) {
          schedule.decisions.push_back(random_exchange(random, block, phase, layout));
        }
        if (random() % 4 != 0) {
          schedule.decisions.push_back(
              PipelineSplit{block, phase, 1 + static_cast<int>(random() % 5)});
        }
        // In float a value may be as near to where rounding steps as sums in another order are apart.
        if (model.dtype == DType::f64 && random() % 4 == 0) {
          schedule.decisions.push_back(
              CompressExchange{block, phase, random() % 2 ? WireFormat::bf16 : WireFormat::int8});
        }
      }
    }
  }
  for (int block = -1; block < model.blocks && stage_ranks(layout) > 1; ++block) {
    if (random() % 3 == 0) {
      SliceAllReduce slicing{block, 1 + static_cast<int>(random() % 2)};
      if (slicing.pieces == 2 && random() % 2) slicing.shares = {1, 3};
      schedule.decisions.push_back(slicing);
    }
  }
  for (const char* kind :
       {"all_to_all", "all_reduce", "gather_rows", "scatter_rows", "all_gather", "reduce_scatter",
        "pass_on", "exchange_in_node", "exchange_across_nodes", "exchange_step"}) {
    if (random() % 3 != 0) {
      schedule.decisions.push_back(
          StreamAssignment{kind, random() % 2 ? Stream::inter_node : Stream::intra_node});
    }
  }
  if (model.micro_batches > 1 && random() % 3 != 0) {
    schedule.decisions.push_back(
        OrderMicroBatches{random() % 2 ? MicroBatchOrder::gpipe : MicroBatchOrder::one_f_one_b});
  }
  return schedule;
}

void keep_streams_there(Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  draw.schedule = testing::with_streams_of(program, std::move(draw.schedule));
}

/// A few gradients worked out behind a few exchanges, and a few reduced among backward, as far as that is legal.
void draw_placements(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  const auto place = [&](const Decision& placing) {
    Schedule more = draw.schedule;
    more.decisions.push_back(placing);
    try {
      apply(program, more);
    } catch (const std::invalid_argument&) {
      return;
    }
    draw.schedule = std::move(more);
  };
  const auto block = [&](int from) {
    return from + static_cast<int>(random() % static_cast<unsigned>(draw.model.blocks - from));
  };
  for (int i = 0; i < 4 && random() % 3 != 0; ++i) {
    const Parameter& parameter = program.parameters[random() % program.parameters.size()];
    place(PlaceWeightGradient{program.tensors[static_cast<std::size_t>(parameter.value)].name,
                              block(0), random() % 2 ? Direction::dispatch : Direction::combine,
                              static_cast<int>(random() % 3)});
  }
  for (int i = 0; i < 4 && random() % 3 != 0; ++i) {
    place(PlaceAllReduce{block(-1), static_cast<int>(random() % 2),
                         static_cast<AllReducePlace>(random() % 3), block(0)});
  }
}

/// Ranges of layers that can be cut along the batch, instead of their splits along the routed rows.
void draw_partitions(std::mt19937& random, Draw& draw) {
  const Program program = build_iteration(draw.model, make_groups(draw.layout, draw.node_of), 0);
  for (int block = 0; block < draw.model.blocks; ++block) {
    if (!has_experts(draw.model, block) || random() % 2 == 0) continue;
    Schedule more = draw.schedule;
    std::erase_if(more.decisions, [&](const Decision& decision) {
      const auto* split = std::get_if<PipelineSplit>(&decision);
      return split != nullptr && split->layer == block;
    });
    PartitionRange range{block, 2 + static_cast<int>(random() % 3), static_cast<int>(random() % 12),
                         static_cast<int>(random() % 12)};
    for (; range.ops_before >= 0; --range.ops_before, range.ops_after /= 2) {
      Schedule tried = more;
      tried.decisions.push_back(range);
      try {
        apply(program, tried);
      } catch (const std::invalid_argument&) {
        continue;
      }
      draw.schedule = std::move(tried);
      break;
    }
  }
}

Draw random_draw(std::mt19937& random) {
  Draw draw;
  draw.model = random_model(random);
  draw.layout = random_layout(random, draw.model);
  draw.node_of = random_nodes(random, draw.layout);
  draw.schedule = random_schedule(random, draw.model, draw.layout);
  keep_streams_there(draw);
  draw_partitions(random, draw);
  draw_placements(random, draw);
  return draw;
}

/// Of a schedule, what changes results.
Schedule changing(const Schedule& schedule) {
  Schedule kept{"changing", {}};
  for (const Decision& decision : schedule.decisions) {
    if (std::visit([](const auto& one) { return one.changes_results; }, decision)) {
      kept.decisions.push_back(decision);
    }
  }
  return kept;
}

/// What is wrong with a draw; empty where the property holds.
std::string violation(const Draw& draw) {
  const Outcome reference = train_small(draw.model, changing(draw.schedule), 1, kSteps);
  const Outcome outcome =
      train_small(draw.model, draw.schedule, make_groups(draw.layout, draw.node_of), kSteps);
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
  for (int step = 1; step < kSteps; ++step) {  // these have gone through updates
    hold_together("later loss", outcome.losses[step], reference.losses[step], kLater);
  }
  if (const double difference = largest_difference(outcome, reference);
      !(difference < 10 * limit)) {
    text += "gradients differ by " + std::to_string(difference) + "\n";
  }
  if (outcome.dropped != reference.dropped) {
    text += "dropped " + std::to_string(outcome.dropped) + " copies instead of " +
            std::to_string(reference.dropped) + "\n";
  }
  return text;
}

/// The simplest draw on the way down from a failing one that still fails.
Draw shrink(Draw draw) {
  const auto fails = [](const Draw& candidate) {
    try {
      return !violation(candidate).empty();
    } catch (const std::exception&) {
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
      [](Draw& d) { d.layout.pipeline = 1; },
      [](Draw& d) { d.layout.tensor = 1; },
      [](Draw& d) {
        d.layout.expert_sharded = 1;
        d.node_of.clear();
      },
      [](Draw& d) { d.node_of.clear(); },
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
      [](Draw& d) { d.model.heads = 1; },
      [](Draw& d) { d.model.dtype = DType::f64; }};
  for (bool changed = true; changed;) {
    changed = false;
    const auto try_on = [&](const auto& change) {
      Draw candidate = draw;
      change(candidate);
      try {
        keep_streams_there(candidate);
      } catch (const std::invalid_argument&) {
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

/// MOELAB_DRAWS draws (200 where it is not set), from seed MOELAB_SEED.
TEST(ScheduleInvariance, RandomSchedulesOfRandomModelsOnAnyRanksGiveTheSequentialLossAndGradients) {
  const auto number = [](const char* name, int fallback) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : fallback;
  };
  const int draws = number("MOELAB_DRAWS", 200);
  std::mt19937 random(static_cast<unsigned>(number("MOELAB_SEED", 20240601)));
  for (int i = 0; i < draws; ++i) {
    const Draw draw = random_draw(random);
    if (violation(draw).empty()) continue;
    const Draw simplest = shrink(draw);
    FAIL() << "draw " << i << ", shrunk:\n" << violation(simplest) << describe(simplest);
  }
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
      EXPECT_EQ(planned_peak_bytes(program, bind(program, outcome.routing, groups, rank)),
                outcome.planned_peaks[rank])
          << describe(draw);
      if (draw.model.capacity_factor) {  // room for rows that did not come is left as it was
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
}  // namespace moe::testing
