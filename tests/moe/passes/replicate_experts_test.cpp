#include "moe/passes/replicate_experts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/even_routing.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"

namespace moe::replicate_experts_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::chunked_by_routes;
using test::largest_difference;
using test::largest_state_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using test::with_streams_of;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Replicates a few of the 28 experts of the small model's layer on a few other ranks, and one on
/// all of them.
ExpertPlacement placement_on(int members, RowsOfOthers rows = RowsOfOthers::home,
                             ExpertRoute route = ExpertRoute::unicast) {
  const int own = 28 / members;
  ExpertPlacement placement{{{0, {members - 1}}, {own, {}}, {27, {0}}}, rows, {}, route};
  for (int member = 0; member < members; ++member) {
    if (member != 1) placement.replicas[1].holders.push_back(member);
  }
  return placement;
}

Schedule replicated(int members, RowsOfOthers rows = RowsOfOthers::home,
                    ExpertRoute route = ExpertRoute::unicast) {
  return {"replicated", {ReplicateExperts{1, placement_on(members, rows, route)}}};
}

constexpr ExpertRoute kBothRoutes[] = {ExpertRoute::unicast, ExpertRoute::ring};

std::vector<const Op*> ops_of_kind(const Program& program, std::string_view kind) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops) {
    if (kind_name(op) == kind) found.push_back(&op);
  }
  return found;
}

/// "received, up.weight", without the name of the block.
std::string names(const Program& program, const std::vector<Use>& uses) {
  std::string text;
  for (const Use& use : uses) {
    std::string name = program.tensors[static_cast<std::size_t>(use.tensor)].name;
    for (const std::string label : {"block1.", "experts."}) {
      if (const auto at = name.find(label); at != std::string::npos) name.erase(at, label.size());
    }
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

TEST(ReplicateExperts, SendsParametersBeforeTheLayerAndBringsGradientsHomeAfterBackward) {
  const Program whole = build_iteration(small_model(DType::f32), make_groups(Layout{2, 2, 1}), 0);
  const Program program = apply(whole, ReplicateExperts{1, {{{3, {1}}}}});
  std::string text;
  for (const Op& op : program.ops) {
    const bool experts = op.layer == 1 && uses_routed_rows(program, op);
    const bool moves = moves_experts(op) || brings_gradients_home(op);
    if (!experts && !moves && !reduces_gradients(op)) continue;
    text += kind_name(op);
    if (moves || kind_name(op).starts_with("expert_linear")) {
      text += " " + names(program, op.reads) + " -> " + names(program, op.writes);
    }
    text += "\n";
  }
  // The operands of the gate's ops and of all-reduces are not listed.
  EXPECT_EQ(
      text,
      R"(send_experts up.weight, up.bias, down.weight, down.bias -> )"
      R"(up.weight.replicas, up.bias.replicas, down.weight.replicas, down.bias.replicas
permute
all_to_all
expert_linear received, up.weight, up.bias, up.weight.replicas, up.bias.replicas -> up
gelu
expert_linear activated, down.weight, down.bias, down.weight.replicas, down.bias.replicas -> down
all_to_all
combine
combine_weight_gradient
combine_input_gradient
all_to_all
expert_linear_input_gradient d_produced, down.weight, down.weight.replicas -> d_input.down
gelu_gradient
expert_linear_input_gradient d_hidden, up.weight, up.weight.replicas -> d_input.up
all_to_all
expert_linear_weight_gradient activated, d_produced -> d_down.weight, d_down.bias
expert_linear_weight_gradient activated, d_produced -> d_down.weight.replicas, d_down.bias.replicas
expert_linear_weight_gradient received, d_hidden -> d_up.weight, d_up.bias
expert_linear_weight_gradient received, d_hidden -> d_up.weight.replicas, d_up.bias.replicas
permute_gradient
return_gradients d_down.weight.replicas, d_down.bias.replicas, )"
      R"(d_up.weight.replicas, d_up.bias.replicas -> )"
      R"(d_down.weight.returned, d_down.bias.returned, d_up.weight.returned, d_up.bias.returned
add_returned d_down.weight.returned, d_down.bias.returned, )"
      R"(d_up.weight.returned, d_up.bias.returned, )"
      R"(d_down.weight, d_down.bias, d_up.weight, d_up.bias -> )"
      R"(d_down.weight, d_down.bias, d_up.weight, d_up.bias
all_reduce
all_reduce
all_reduce
all_reduce
)");
}

TEST(ReplicateExperts, LossesAndGradientsAreThoseOfTheSequentialRun) {
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, {"sequential", {}}, 1, 3);
  for (const ExpertRoute route : kBothRoutes) {
    for (const RowsOfOthers rows : {RowsOfOthers::home, RowsOfOthers::spread}) {
      for (const int ranks : {2, 4, 7}) {
        const Outcome outcome = train_small(model, replicated(ranks, rows, route), ranks, 3);
        for (std::size_t step = 0; step < 3; ++step) {
          EXPECT_NEAR(outcome.losses[step], reference.losses[step], 1e-12);
        }
        EXPECT_LT(largest_difference(outcome, reference), 1e-12) << ranks << " ranks";
        EXPECT_EQ(outcome.dropped, reference.dropped);
      }
    }
  }
}

TEST(ReplicateExperts, RowsThatEitherSolverSharesOutGiveTheSequentialLossesAndGradients) {
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, {"sequential", {}}, 1, 2);
  for (const BalancedBy solver : {BalancedBy::optimum, BalancedBy::interior_point}) {
    ReplicateExperts balanced{1, placement_on(4, RowsOfOthers::balanced)};
    balanced.placement.balanced_by = solver;
    const Outcome outcome = train_small(model, {"balanced", {balanced}}, 4, 2);
    EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-12);
    EXPECT_LT(largest_difference(outcome, reference), 1e-12);
  }
}

TEST(ReplicateExperts, OnRingsComputesTheSameForwardAndGetsTheSameBitsAgain) {
  const Model model = small_model(DType::f32);
  const Outcome unicast = train_small(model, replicated(4), 4, 2);
  const Schedule rings = replicated(4, RowsOfOthers::home, ExpertRoute::ring);
  const Outcome first = train_small(model, rings, 4, 2), second = train_small(model, rings, 4, 2);
  EXPECT_EQ(first.losses[0], unicast.losses[0]);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(largest_difference(first, second), 0);
}

TEST(ReplicateExperts, GoesWithEveryLayoutMicroBatchesAndNetworks) {
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 2, 2}, Layout{1, 2, 1, 2},
                               Layout{1, 2, 1, 1, 2}, Layout{2, 2, 2}}) {
    for (const char* expert : {"gpt", "mixtral"}) {
      Model model = small_model(DType::f64);
      model.expert = expert;
      model.blocks = 2;
      model.global_batch = model.capacity_groups = 48;
      model.micro_batches = 3;
      const Outcome reference = train_small(model, {"sequential", {}}, 1, 2);
      const ExpertRoute route = layout.data > 1 ? ExpertRoute::ring : ExpertRoute::unicast;
      const Outcome outcome =
          train_small(model, replicated(2, RowsOfOthers::spread, route), layout, 2);
      EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-11) << to_text(layout);
      EXPECT_LT(largest_difference(outcome, reference), 1e-11) << to_text(layout);
    }
  }
}

TEST(ReplicateExperts, GoesWithChunksPartsRoutesAndStreams) {
  Model model = small_model(DType::f64);
  model.drop = Drop::position;
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  const Outcome reference = train_small(model, {"sequential", {}}, 1, 2);
  std::vector<Schedule> schedules = chunked_by_routes(model);
  for (const int before : {0, 8}) {
    schedules.push_back({"parts", {PartitionRange{1, 7, before, 1}}});
  }
  std::size_t drawn = 0;
  for (Schedule schedule : schedules) {
    const ExpertRoute route = kBothRoutes[++drawn % 2];
    schedule.decisions.push_back(ReplicateExperts{1, placement_on(4, RowsOfOthers::home, route)});
    schedule.decisions.push_back(StreamAssignment{"send_experts", Stream::inter_node});
    schedule.decisions.push_back(StreamAssignment{"return_gradients", Stream::intra_node});
    schedule = with_streams_of(build_iteration(model, groups, 0), std::move(schedule));
    const Outcome outcome = train_small(model, schedule, groups, 2);
    EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-12) << to_json(schedule);
    EXPECT_LT(largest_difference(outcome, reference), 1e-12) << to_json(schedule);
  }
}

TEST(ReplicateExperts, HoldsWhatItPlansWithACapacityAndWithout) {
  for (const RowsOfOthers rows : {RowsOfOthers::home, RowsOfOthers::spread}) {
    for (const std::optional<double> capacity : {std::optional<double>(), std::optional(0.75)}) {
      Model model = small_model(DType::f32);
      model.capacity_factor = capacity;
      const ExpertRoute route = capacity ? ExpertRoute::ring : ExpertRoute::unicast;
      const Schedule schedule = replicated(4, rows, route);
      const Outcome outcome = train_small(model, schedule, Layout{1, 4, 1}, 2);
      for (int rank = 0; rank < 4; ++rank) {
        const Groups groups = make_groups(4, 4);
        const Program program = apply(build_iteration(model, groups, rank), schedule);
        EXPECT_EQ(planned_peak_bytes(program, bind(program, outcome.routing, groups, rank)),
                  outcome.planned_peaks[rank]);
        EXPECT_LE(outcome.touched_peaks[rank], outcome.planned_peaks[rank]);
        EXPECT_GT(outcome.touched_peaks[rank], outcome.planned_peaks[rank] / 2);
      }
    }
  }
}

TEST(ReplicateExperts, SetsAsideRoomForTheRowsOfItsReplicas) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1;
  const Program whole = build_iteration(model, make_groups(4, 4), 0);
  const auto rows_named = [](const Program& program, std::string_view name) {
    for (const Tensor& tensor : program.tensors) {
      if (tensor.name == name) return tensor.rows;
    }
    return std::int64_t{-1};
  };
  const std::int64_t before = rows_named(whole, "block1.received");
  // 7 experts of a rank, of which two more.
  const Program home = apply(whole, replicated(4));
  EXPECT_EQ(rows_named(home, "block1.received"), before + (before * 2 + 27) / 28);
  const Program spread = apply(whole, replicated(4, RowsOfOthers::spread));
  EXPECT_EQ(rows_named(spread, "block1.received"), before + (before * 2 + 6) / 7);
  EXPECT_EQ(rows_named(spread, "block1.sent"), rows_named(whole, "block1.sent"));
}

TEST(ReplicateExperts, MovesTheBytesOfTheExpertsThatItSays) {
  const Groups groups = make_groups(4, 4);
  const Model model = small_model(DType::f32);
  const Program program = apply(build_iteration(model, groups, 1), replicated(4));
  // Two matrices of d_model x d_hidden, biases of d_hidden and d_model.
  const std::int64_t expert =
      4 * (2 * model.d_model * model.d_hidden + model.d_hidden + model.d_model);
  const Op& send = *ops_of_kind(program, "send_experts").at(0);
  const Op& home = *ops_of_kind(program, "return_gradients").at(0);
  using Bytes = std::vector<std::int64_t>;
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 1), (Bytes{expert, 0, expert, expert}));
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 0), (Bytes{0, 0, 0, expert}));
  EXPECT_EQ(bytes_to_peers(program, home, {}, groups, 0), (Bytes{0, expert, 0, expert}));
  EXPECT_EQ(bytes_to_peers(program, home, {}, groups, 1), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(
      work_of(program, *ops_of_kind(program, "add_returned").at(0), {}, groups, 1).memory_bytes,
      3 * 3 * expert);
}

TEST(ReplicateExperts, OnARingEveryRankSendsAnExpertOnceAtMost) {
  const Groups groups = make_groups(4, 4);
  const Model model = small_model(DType::f32);
  const Program program = apply(build_iteration(model, groups, 1),
                                replicated(4, RowsOfOthers::home, ExpertRoute::ring));
  const std::int64_t expert =
      4 * (2 * model.d_model * model.d_hidden + model.d_hidden + model.d_model);
  const Op& send = *ops_of_kind(program, "send_experts").at(0);
  const Op& home = *ops_of_kind(program, "return_gradients").at(0);
  using Bytes = std::vector<std::int64_t>;
  // Expert 0 goes from 0 to 3, expert 7 from 1 to 2, 3 and 0, expert 27 from 3 to 0.
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 0), (Bytes{0, 0, 0, expert}));
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 1), (Bytes{0, 0, expert, 0}));
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 2), (Bytes{0, 0, 0, expert}));
  EXPECT_EQ(bytes_to_peers(program, send, {}, groups, 3), (Bytes{2 * expert, 0, 0, 0}));
  EXPECT_EQ(bytes_to_peers(program, home, {}, groups, 0), (Bytes{0, 0, 0, 2 * expert}));
  EXPECT_EQ(bytes_to_peers(program, home, {}, groups, 3), (Bytes{expert, 0, expert, 0}));
  EXPECT_EQ(
      work_of(program, *ops_of_kind(program, "add_returned").at(0), {}, groups, 1).memory_bytes,
      3 * expert);
}

/// As a planner does that goes on from a given schedule.
TEST(ReplicateExperts, ChosenAfterTheGateAddUpTheChunksThatAreThereAlready) {
  Model model = small_model(DType::f64);
  model.micro_batches = 2;
  const Program cut =
      apply(build_iteration(model, make_groups(Layout{1, 2, 1}), 0), chunked(model, 1, 3));
  ExpertPlacement placement;
  placement.rows_of_others = RowsOfOthers::balanced;
  placement.late = {LateRule::ultraep, 1, 1.1, 1};
  const Program program = apply(cut, Schedule{"", {ReplicateExperts{1, placement}}});
  std::map<std::pair<int, std::string>, int> begun, added;  // by micro-batch and name
  for (const Op* op : ops_of_kind(program, ExpertLinearWeightGradient::facts.name)) {
    if (!op->name.ends_with("of replicas")) continue;
    const bool adds = std::get<ExpertLinearWeightGradient>(op->kind).accumulate;
    ++(adds ? added : begun)[{op->micro_batch, names(program, op->writes)}];
  }
  EXPECT_EQ(begun.size(), 4u);  // of two micro-batches and two matrices
  for (const auto& [of, times] : begun) {
    EXPECT_EQ(times, 1);
    EXPECT_EQ(added[of], 2);
  }
}

Schedule after_gate(const Model& model, LateRule rule, int slots, SlotsOf slots_of) {
  Schedule schedule{"after gate", {}};
  for (int block = 0; block < model.blocks; ++block) {
    ExpertPlacement placement;
    placement.rows_of_others = RowsOfOthers::balanced;
    placement.late = {rule, slots, 1.1, 1, LateDomain::all, slots_of};
    schedule.decisions.push_back(ReplicateExperts{block, placement});
  }
  return schedule;
}

TEST(ReplicateExperts, InSlotsOfAllLayersAreSentAgainForBackwardAndGoHomeInIt) {
  const Model model = all_moe_model(DType::f32, 2);
  const Program program = apply(build_iteration(model, make_groups(2, 2), 0),
                                after_gate(model, LateRule::moonep, 1, SlotsOf::all_layers));
  std::string text;
  for (const Op& op : program.ops) {
    const bool moves = moves_experts(op) || brings_gradients_home(op);
    const bool routed = op.layer == 0 && (exchanges_rows(op) || op.name.ends_with("of replicas") ||
                                          kind_name(op) == "expert_linear_input_gradient");
    if (!moves && !routed) continue;
    text += fmt::format("{} {}", op.layer, kind_name(op));
    if (kind_name(op) == "send_experts") text += " " + names(program, op.reads);
    text += "\n";
  }
  // What arrives in backward is sent along in no message: the transfer waits for it.
  EXPECT_EQ(text,
            R"(0 send_experts block0.up.weight, block0.up.bias, block0.down.weight, block0.down.bias
0 all_to_all
0 all_to_all
1 send_experts up.weight, up.bias, down.weight, down.bias
1 send_experts down.weight, up.weight, d_input.final_norm
1 return_gradients
1 add_returned
0 send_experts block0.down.weight, block0.up.weight, d_input
0 all_to_all
0 expert_linear_input_gradient
0 expert_linear_input_gradient
0 all_to_all
0 expert_linear_weight_gradient
0 expert_linear_weight_gradient
0 return_gradients
0 add_returned
)");
}

TEST(ReplicateExperts, InSlotsOfAllLayersGiveTheSameBits) {
  const Model model = all_moe_model(DType::f32, 3);
  for (const LateRule rule : {LateRule::ultraep, LateRule::moonep, LateRule::llep}) {
    const Outcome apart = train_small(model, after_gate(model, rule, 2, SlotsOf::each_layer), 4, 2);
    const Outcome shared =
        train_small(model, after_gate(model, rule, 2, SlotsOf::all_layers), 4, 2);
    EXPECT_EQ(shared.losses, apart.losses);
    EXPECT_EQ(largest_difference(shared, apart), 0);
    EXPECT_EQ(largest_state_difference(shared, apart), 0);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_LT(shared.planned_peaks[rank], apart.planned_peaks[rank]);
      EXPECT_LE(shared.touched_peaks[rank], shared.planned_peaks[rank]);
    }
  }
}

/// Names of tensors of replicas that ops of backward read, and do not make.
std::set<std::string> replicas_read_in_backward(const Program& program) {
  std::set<TensorId> made;
  std::set<std::string> read;
  for (const Op& op : program.ops) {
    if (op.phase != Phase::backward) continue;
    for (const Use& use : op.writes) made.insert(use.tensor);
    for (const Use& use : op.reads) {
      const Tensor& tensor = program.tensors[use.tensor];
      if (tensor.role == Role::replica && !made.contains(use.tensor)) read.insert(tensor.name);
    }
  }
  return read;
}

TEST(ReplicateExperts, InSlotsOfAllLayersAreWhatABlockThatIsComputedAgainReads) {
  const Model model = all_moe_model(DType::f64, 2);
  const Program whole = build_iteration(model, make_groups(2, 2), 0);
  for (const SlotsOf slots_of : {SlotsOf::each_layer, SlotsOf::all_layers}) {
    Schedule schedule = after_gate(model, LateRule::moonep, 1, slots_of);
    const Outcome kept = train_small(model, schedule, 2, 2);
    schedule.decisions.push_back(
        RestoreBlock{0, RestoreDense::recompute, RestoreCommunication::repeat});
    const std::set<std::string> read = replicas_read_in_backward(apply(whole, schedule));
    EXPECT_EQ(read.contains("block0.experts.up.weight.replicas"), slots_of == SlotsOf::each_layer);
    const Outcome again = train_small(model, schedule, 2, 2);
    EXPECT_EQ(again.losses, kept.losses);
    EXPECT_EQ(largest_difference(again, kept), 0);
  }
}

/// With even loads nothing moves, so slots are all that takes memory beside what is at home.
TEST(ReplicateExperts, InSlotsOfAllLayersTakeTheMemoryOfOneLayer) {
  constexpr int kSlots = 4;
  const Groups groups = make_groups(4, 4);
  const auto slot_bytes = [&](int blocks, SlotsOf slots_of) {
    Model model = all_moe_model(DType::f32, blocks);
    model.d_hidden = 256;  // slots take more than activations
    const auto peak = [&](const Schedule& schedule) {
      const Program program = apply(build_iteration(model, groups, 0), schedule);
      return planned_peak_bytes(program, bind(program, even_routing(program, groups), groups, 0));
    };
    return peak(after_gate(model, LateRule::moonep, kSlots, slots_of)) - peak({});
  };
  const std::int64_t of_one = slot_bytes(1, SlotsOf::each_layer);
  EXPECT_GT(slot_bytes(6, SlotsOf::each_layer), 5 * of_one);
  EXPECT_LT(slot_bytes(6, SlotsOf::all_layers), 2 * of_one);
  EXPECT_LT(slot_bytes(12, SlotsOf::all_layers), 2 * of_one);
}

TEST(ReplicateExperts, ChosenAfterTheGateReturnNoMoreGradientsThanOtherRanksHaveSlots) {
  const Model model = all_moe_model(DType::f32, 1);
  for (const int slots : {1, 9}) {
    const Program program = apply(build_iteration(model, make_groups(4, 4), 0),
                                  after_gate(model, LateRule::moonep, slots, SlotsOf::each_layer));
    const Op& add = *ops_of_kind(program, "add_returned").at(0);
    for (std::size_t i = 0; i < add.writes.size(); ++i) {
      EXPECT_EQ(program.tensors[add.reads[i].tensor].rows * 7,
                program.tensors[add.writes[i].tensor].rows * (slots == 1 ? 3 : 7));
    }
  }
}

TEST(ReplicateExperts, RefusesWhatItCannotDo) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(4, 4), 0);
  const auto refused = [](const Program& whole, const ReplicateExperts& replicating,
                          const char* why) {
    EXPECT_THAT([&] { apply(whole, replicating); }, ThrowsMessage<Refusal>(HasSubstr(why)));
  };
  refused(program, {0, {{{3, {1}}}}}, "replicate_experts: layer 0: no experts there");
  refused(program, {1, {}}, "layer 1: no replicas: expected at least one expert");
  refused(program, {1, {{{28, {1}}}}},
          "layer 1: expert 28 on ranks 1: expected an expert from 0 to 27");
  refused(program, {1, {{{3, {0}}}}}, "rank 0 is its home");
  refused(program, {1, {{{3, {4}}}}}, "rank 4: expected one of the expert group, from 0 to 3");
  refused(build_iteration(small_model(DType::f32), make_groups(4, 1), 0), {1, {{{3, {1}}}}},
          "every rank has all experts: expected a layout with ep of at least 2");
  refused(apply(program, ReplicateExperts{1, {{{3, {1}}}}}), {1, {{{3, {2}}}}},
          "its experts are replicated already");
}

TEST(ReplicateExperts, HasSlotsForTheExpertsOfOtherRanksAtMost) {
  const auto with_slots = [](int slots) {
    ReplicateExperts late{1, {}};
    late.placement.rows_of_others = RowsOfOthers::balanced;
    late.placement.late = {LateRule::moonep, slots};
    return late;
  };
  for (const int members : {2, 4}) {
    const Program program =
        build_iteration(small_model(DType::f32), make_groups(members, members), 0);
    const int elsewhere = 28 - 28 / members;
    EXPECT_NO_THROW(apply(program, with_slots(elsewhere)));
    EXPECT_THAT([&] { apply(program, with_slots(elsewhere + 1)); },
                ThrowsMessage<Refusal>(HasSubstr("slots for the")));
  }
}

TEST(ReplicateExperts, ComesBackFromJson) {
  const Schedule schedule = replicated(4, RowsOfOthers::spread);
  EXPECT_EQ(schedule_from_json(to_json(schedule)).decisions, schedule.decisions);
  EXPECT_EQ(
      to_json(Decision{ReplicateExperts{1, {{{3, {0, 2}}}}}}),
      R"({"decision":"replicate_experts","layer":1,"replicas":[{"expert":3,"holders":[0,2]}],)"
      R"("rows_of_others":"home"})");
  EXPECT_EQ(to_json(Decision{
                ReplicateExperts{1, {{{3, {0, 2}}}, RowsOfOthers::home, {}, ExpertRoute::ring}}}),
            R"({"decision":"replicate_experts","layer":1,)"
            R"("replicas":[{"expert":3,"holders":[0,2]}],"route":"ring",)"
            R"("rows_of_others":"home"})");
  const Schedule rings = replicated(4, RowsOfOthers::home, ExpertRoute::ring);
  EXPECT_EQ(schedule_from_json(to_json(rings)).decisions, rings.decisions);
  ReplicateExperts balanced{1, {{{3, {0, 2}}}, RowsOfOthers::balanced}};
  balanced.placement.balanced_by = BalancedBy::interior_point;
  EXPECT_EQ(to_json(Decision{balanced}),
            R"({"balanced_by":"interior_point","decision":"replicate_experts","layer":1,)"
            R"("replicas":[{"expert":3,"holders":[0,2]}],"rows_of_others":"balanced"})");
  const Schedule steps{"", {balanced}};
  EXPECT_EQ(schedule_from_json(to_json(steps)).decisions, steps.decisions);
  EXPECT_EQ(changes_results(schedule), "");
}

TEST(ReplicateExperts, AfterTheGateComeBackFromJson) {
  for (const LateCopies& late :
       {LateCopies{LateRule::ultraep, 1}, LateCopies{LateRule::llep, 3, 1.25, 16},
        LateCopies{LateRule::moonep, 2, 1.1, 1024, LateDomain::node},
        LateCopies{LateRule::ultraep, 1, 1.1, 1024, LateDomain::all, SlotsOf::all_layers}}) {
    ExpertPlacement placement;
    placement.rows_of_others = RowsOfOthers::balanced;
    placement.late = late;
    const Schedule schedule{"late", {ReplicateExperts{1, placement}}};
    EXPECT_EQ(schedule_from_json(to_json(schedule)).decisions, schedule.decisions);
  }
}

TEST(ReplicateExperts, AfterTheGateRefuseKeysThatChangeNothing) {
  const auto read = [](const char* rule, const char* beside) {
    return schedule_from_json(
        fmt::format(R"({{"decisions": [{{"decision": "replicate_experts", "layer": 1{}, )"
                    R"("after_gate": {{"slots": 1, {}}}}}]}})",
                    beside, rule));
  };
  constexpr const char* kUltraEp = R"("rule": "ultraep")";
  EXPECT_NO_THROW(read(kUltraEp, ""));
  EXPECT_NO_THROW(read(kUltraEp, R"(, "rows_of_others": "balanced")"));
  EXPECT_NO_THROW(read(R"("rule": "llep", "alpha": 1.2, "least_rows": 8)", ""));
  const auto refused = [&](const char* rule, const char* beside, const char* key) {
    EXPECT_THAT([&] { read(rule, beside); }, ThrowsMessage<InputError>(HasSubstr(key)));
  };
  refused(kUltraEp, R"(, "rows_of_others": "home")", "rows_of_others");
  refused(kUltraEp, R"(, "route": "unicast")", "route");
  refused(kUltraEp, R"(, "balanced_by": "interior_point")", "balanced_by");
  refused(kUltraEp, R"(, "replicas": [])", "replicas");
  refused(R"("rule": "moonep", "alpha": 1.2)", "", "alpha");
  refused(R"("rule": "ultraep", "least_rows": 8)", "", "least_rows");
}

}  // namespace
}  // namespace moe::replicate_experts_test
