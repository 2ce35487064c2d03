#include "moe/passes/compress_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"

namespace moe::compress_exchange_test {
namespace {

using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using test::with_streams_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Schedule compressed(WireFormat format) {
  return {
      "compressed",
      {CompressExchange{1, Phase::forward, format}, CompressExchange{1, Phase::backward, format}}};
}

TEST(CompressExchange, PacksBeforeAndUnpacksAfterEveryAllToAllOfItsPhase) {
  const Program program = apply(build_iteration(small_model(DType::f32), make_groups(2, 2), 0),
                                CompressExchange{1, Phase::forward, WireFormat::int8});
  std::vector<std::string> kinds;
  for (const Op& op : program.ops) {
    if (op.layer == 1 && op.phase == Phase::forward && uses_routed_rows(program, op)) {
      kinds.emplace_back(kind_name(op));
    }
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("permute", "pack_rows", "all_to_all", "unpack_rows",
                                            "expert_linear", "gelu", "expert_linear", "pack_rows",
                                            "all_to_all", "unpack_rows", "combine"));
  for (const Op& op : program.ops) {
    if (op.phase == Phase::backward) {
      EXPECT_NE(kind_name(op), "pack_rows");
    }
  }
}

TEST(CompressExchange, SendsAHalfOrAboutAQuarterOfTheBytes) {
  const Groups groups = make_groups(2, 2);
  const Program whole = build_iteration(small_model(DType::f32), groups, 0);
  const auto sent = [&](const Program& program) {
    const Routing routing{{uniform_routing(1, 2, 28, 14 * 8 * 2)}};
    const Binding binding = bind(program, routing, groups, 0);
    std::int64_t bytes = 0;
    for (const Op& op : program.ops) {
      if (std::holds_alternative<AllToAll>(op.kind) && op.phase == Phase::forward) {
        bytes += work_of(program, op, binding, groups, 0).wire_bytes;
      }
    }
    return bytes;
  };
  // A row of 16 floats: 64 bytes, 32, or 16 and a scale.
  const std::int64_t rows = sent(whole) / 64;
  EXPECT_EQ(sent(apply(whole, CompressExchange{1, Phase::forward, WireFormat::bf16})), rows * 32);
  EXPECT_EQ(sent(apply(whole, CompressExchange{1, Phase::forward, WireFormat::int8})), rows * 20);
}

TEST(CompressExchange, ChangesLossAndGradientsWithinTheBoundsOfItsFormat) {
  Model model = small_model(DType::f64);
  model.gate = "sigmoid";
  const Outcome exact = train_small(model, {"sequential", {}}, 1, 2);
  struct Bound {
    WireFormat format;
    double loss, gradients;
  };
  for (const Bound& bound :
       {Bound{WireFormat::bf16, 1e-4, 2e-2}, Bound{WireFormat::int8, 1e-3, 5e-2}}) {
    for (const int ranks : {1, 4}) {
      const Outcome outcome = train_small(model, compressed(bound.format), ranks, 2);
      EXPECT_NE(outcome.losses[0], exact.losses[0]);
      for (const std::size_t step : {0, 1}) {
        EXPECT_NEAR(outcome.losses[step], exact.losses[step], bound.loss * exact.losses[step]);
      }
      const double difference = largest_difference(outcome, exact);
      EXPECT_GT(difference, 1e-6);
      EXPECT_LT(difference, bound.gradients) << wire_format_name(bound.format);
      EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks);
    }
  }
}

TEST(CompressExchange, IsCutWithTheRest) {
  const Model model = small_model(DType::f64);
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
    Schedule cut = chunked(model, 3, 1);
    const Schedule whole = compressed(format);
    cut.decisions.insert(cut.decisions.end(), whole.decisions.begin(), whole.decisions.end());
    EXPECT_EQ(train_small(model, cut, 2, 1).losses, train_small(model, whole, 2, 1).losses);
  }
}

TEST(CompressExchange, IsTheSameByEveryRoute) {
  const Model model = small_model(DType::f64);
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
    const Outcome flat = train_small(model, compressed(format), groups, 1);
    for (const Route route : {Route::one_d, Route::two_d, Route::pairwise}) {
      Schedule schedule = chunked(model, 2, 1);
      append(schedule, compressed(format).decisions);
      for (const Phase phase : {Phase::forward, Phase::backward}) {
        schedule.decisions.push_back(Exchange{1, phase, {}, route, 2});
      }
      schedule = with_streams_of(build_iteration(model, groups, 0), std::move(schedule));
      const Outcome routed = train_small(model, schedule, groups, 1);
      EXPECT_EQ(routed.losses, flat.losses) << route_name(route);
      EXPECT_LT(largest_difference(routed, flat), 1e-14) << route_name(route);
    }
  }
}

TEST(CompressExchange, ComesBackFromJsonAndIsNamedAsWhatChangesResults) {
  Schedule schedule = chunked(small_model(DType::f32), 2, 2);
  EXPECT_EQ(changes_results(schedule), "");
  const Schedule packed = compressed(WireFormat::int8);
  schedule.decisions.insert(schedule.decisions.end(), packed.decisions.begin(),
                            packed.decisions.end());
  EXPECT_EQ(schedule_from_json(to_json(schedule)), canonical(schedule));
  EXPECT_EQ(changes_results(schedule), "compress_exchange");
  EXPECT_EQ(to_json(Decision{CompressExchange{3, Phase::backward, WireFormat::bf16}}),
            R"({"decision":"compress_exchange","format":"bf16","layer":3,"phase":"backward"})");
}

TEST(CompressExchange, RefusesWhatIsNotThereOrPackedAlready) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(2, 2), 0);
  EXPECT_THAT(
      [&] {
        apply(program, CompressExchange{0, Phase::forward, WireFormat::bf16});
      },
      ThrowsMessage<Refusal>(
          HasSubstr("compress_exchange: bf16 (layer 0, forward): no all-to-all there")));
  const Program once = apply(program, CompressExchange{1, Phase::forward, WireFormat::int8});
  EXPECT_THAT(
      [&] {
        apply(once, CompressExchange{1, Phase::forward, WireFormat::bf16});
      },
      ThrowsMessage<Refusal>(HasSubstr("the rows are packed already")));
}

TEST(CompressExchange, RefusesToPackRowsInBf16AsBf16) {
  const Program program = build_iteration(small_model(DType::bf16), make_groups(2, 2), 0);
  EXPECT_THAT(
      [&] {
        apply(program, CompressExchange{1, Phase::forward, WireFormat::bf16});
      },
      ThrowsMessage<Refusal>(AllOf(HasSubstr("the rows are in bf16 already"),
                                   HasSubstr("expected format = \"int8\", or precision"))));
  EXPECT_NO_THROW(apply(program, CompressExchange{1, Phase::forward, WireFormat::int8}));
}

}  // namespace
}  // namespace moe::compress_exchange_test
