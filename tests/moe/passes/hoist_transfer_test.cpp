#include "moe/passes/hoist_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"

namespace moe::hoist_transfer_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::train_small;
using test::with_streams_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model three_moe_blocks() { return all_moe_model(DType::f64, 3); }

/// Blocks 1 and 2 with replicas.
Schedule replicated() {
  return {"",
          {ReplicateExperts{1, {{{0, {1, 3}}, {9, {0}}}}},
           ReplicateExperts{2, {{{2, {2}}, {20, {0, 1, 3}}}, RowsOfOthers::spread}}}};
}

Program iteration(const Layout& layout = {1, 4, 1}) {
  return apply(build_iteration(three_moe_blocks(), make_groups(layout), 0), replicated());
}

/// A slice after the dispatch of a block, one after its combine, and one that stays.
HoistTransfer in_three(int layer, Transfer transfer, int at) {
  return {layer,
          transfer,
          {{3, ExchangePlace::dispatch, at}, {1, ExchangePlace::combine, at}, {2, {}, 0}}};
}

/// Kind and layer of the op before each slice.
std::vector<std::string> before_slices(const Program& program, int layer, std::string_view kind) {
  std::vector<std::string> before;
  for (std::size_t i = 1; i < program.ops.size(); ++i) {
    const Op &op = program.ops[i], &last = program.ops[i - 1];
    if (op.layer != layer || kind_name(op) != kind) continue;
    before.push_back(std::string(kind_name(last)) + " " + std::to_string(last.layer) + " " +
                     std::string(phase_name(last.phase)));
  }
  return before;
}

TEST(HoistTransfer, PutsSlicesAfterTheExchangesOfAnotherBlock) {
  const Program sent = apply(iteration(), in_three(2, Transfer::send, 1));
  EXPECT_THAT(
      before_slices(sent, 2, "send_experts"),
      ElementsAre("all_to_all 1 forward", "all_to_all 1 forward", "load_balancing_loss 2 forward"));
  const Program home = apply(iteration(), in_three(2, Transfer::give_back, 1));
  const auto places = before_slices(home, 2, "return_gradients");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0], "all_to_all 1 backward");
  EXPECT_EQ(places[1], "all_to_all 1 backward");
}

TEST(HoistTransfer, PiecesMoveTogetherWhatTheWholeMoves) {
  const Groups groups = make_groups(4, 4);
  for (const Transfer transfer : {Transfer::send, Transfer::give_back}) {
    const Program whole = iteration(), cut = apply(whole, in_three(2, transfer, 1));
    const auto moved = [&](const Program& program) {
      std::vector<std::int64_t> bytes(4);
      for (const Op& op : program.ops) {
        if (op.layer != 2 || !moves_experts(op)) continue;
        if ((transfer == Transfer::send) != std::holds_alternative<SendExperts>(op.kind)) continue;
        const auto slice =
            bytes_to_peers(program, op, {}, groups, transfer == Transfer::send ? 2 : 0);
        for (std::size_t peer = 0; peer < 4; ++peer) bytes[peer] += slice[peer];
      }
      return bytes;
    };
    const auto bytes = moved(whole);
    EXPECT_EQ(moved(cut), bytes);
    EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), 0);
  }
}

TEST(HoistTransfer, LeavesLossesAndGradientsAsTheyWereBitForBit) {
  const Model model = three_moe_blocks();
  for (const int micro_batches : {1, 2}) {
    Model cut = model;
    cut.micro_batches = micro_batches;
    cut.global_batch = cut.capacity_groups = 28 * micro_batches;
    Schedule before = chunked(cut, 2, 3);
    append(before, replicated().decisions);
    const Outcome reference = train_small(cut, before, 4, 2);
    Schedule hoisted = before;
    hoisted.decisions.push_back(in_three(2, Transfer::send, 1));
    hoisted.decisions.push_back(in_three(2, Transfer::give_back, 1));
    hoisted.decisions.push_back(in_three(1, Transfer::send, 0));
    hoisted.decisions.push_back(
        HoistTransfer{1, Transfer::give_back, {{1, ExchangePlace::combine, 0}}});
    hoisted.decisions.push_back(StreamAssignment{"send_experts", Stream::inter_node});
    hoisted.decisions.push_back(StreamAssignment{"return_gradients", Stream::inter_node});
    const Outcome outcome = train_small(cut, hoisted, 4, 2);
    EXPECT_EQ(outcome.losses, reference.losses);
    EXPECT_EQ(outcome.gradients, reference.gradients);
  }
}

TEST(HoistTransfer, LetsGradientsBeReducedEarly) {
  // Copies of experts: what is reduced has to be home before.
  const Layout layout{2, 2, 1};
  const Schedule replicas{"", {ReplicateExperts{2, {{{2, {1}}, {20, {0}}}}}}};
  Schedule early = replicas;
  early.decisions.push_back(PlaceAllReduce{2, 0, ExchangePlace::combine, 0});
  const Program program = build_iteration(three_moe_blocks(), make_groups(layout), 0);
  try {
    apply(program, early);
    ADD_FAILURE() << "the gradients are not home yet";
  } catch (const Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"return gradients\" of layer 2 makes some of them"));
  }
  early.decisions.push_back(
      HoistTransfer{2, Transfer::give_back, {{1, ExchangePlace::dispatch, 1}}});
  const Outcome reference = train_small(three_moe_blocks(), replicas, layout, 2);
  const Outcome outcome = train_small(three_moe_blocks(), early, layout, 2);
  EXPECT_EQ(outcome.losses, reference.losses);
  EXPECT_EQ(outcome.gradients, reference.gradients);
}

TEST(HoistTransfer, RefusesWhatIsNotThereOrComesTooEarlyOrTooLate) {
  const auto refusal = [](const HoistTransfer& hoisting, const Layout& layout = {1, 4, 1}) {
    try {
      apply(iteration(layout), hoisting);
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto one = [](ExchangePlace after, int at) {
    return std::vector<TransferSlice>{{1, after, at}};
  };
  EXPECT_THAT(refusal({0, Transfer::send, one(ExchangePlace::block, 0)}),
              HasSubstr("send of layer 0: no experts are replicated there"));
  EXPECT_THAT(refusal({1, Transfer::send, {}}), HasSubstr("no slices: expected at least one"));
  EXPECT_THAT(refusal({1, Transfer::send, {{0, {}, 0}}}), HasSubstr("a share of 0"));
  EXPECT_THAT(refusal({1, Transfer::send, std::vector<TransferSlice>(99)}),
              HasSubstr("99 slices, but"));
  EXPECT_THAT(refusal({1, Transfer::send, one(ExchangePlace::dispatch, 7)}),
              HasSubstr("after dispatch of 7: no such place in the forward phase"));
  EXPECT_THAT(refusal({1, Transfer::send, one(ExchangePlace::combine, 1)}),
              HasSubstr("after combine of 1: \"experts up\" stands between"));
  EXPECT_THAT(refusal({1, Transfer::give_back, one(ExchangePlace::dispatch, 1)}),
              HasSubstr("after dispatch of 1: \"experts down dW of replicas\" stands between"));
  EXPECT_THAT(
      refusal(
          {2, Transfer::send, {{1, ExchangePlace::combine, 1}, {1, ExchangePlace::dispatch, 1}}}),
      HasSubstr("slice 2 would run before slice 1"));
  EXPECT_EQ(refusal({1, Transfer::send, one(ExchangePlace::dispatch, 1)}), "")
      << "before the experts, after the rows: as FasterMoE does";
  EXPECT_EQ(refusal({1, Transfer::give_back, one(ExchangePlace::block, 1)}), "");
  const Program twice = apply(iteration(), in_three(2, Transfer::send, 1));
  EXPECT_THROW(apply(twice, in_three(2, Transfer::send, 0)), Refusal);
}

TEST(HoistTransfer, RefusesAPlaceOfAnotherStage) {
  Model model = three_moe_blocks();
  const Program program = apply(build_iteration(model, make_groups(Layout{1, 2, 1, 1, 3}), 0),
                                ReplicateExperts{2, {{{2, {1}}}}});
  try {
    apply(program, in_three(2, Transfer::send, 1));
    ADD_FAILURE();
  } catch (const Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("after dispatch of 1: another pipeline stage has it"));
  }
}

TEST(HoistTransfer, ComesBackFromJson) {
  const Schedule schedule{"mine", {in_three(2, Transfer::give_back, 1)}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(
      to_json(schedule.decisions[0]),
      R"({"decision":"hoist_transfer","layer":2,"slices":[{"after":"dispatch","at":1,"share":3},)"
      R"({"after":"combine","at":1,"share":1},{"share":2}],"transfer":"return"})");
  EXPECT_EQ(schedule_from_json(R"({"planner": "mine", "decisions": [
      {"decision": "hoist_transfer", "layer": 2, "transfer": "return", "pieces": [
       {"behind": "dispatch", "at": 1, "share": 3}, {"behind": "combine", "at": 1, "share": 1},
       {"share": 2}]}]})"),
            schedule)
      << "by the former names of its fields";
}

}  // namespace
}  // namespace moe::hoist_transfer_test
