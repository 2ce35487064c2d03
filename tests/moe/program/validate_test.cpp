#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "moe/program/program_builder.h"

namespace moe::validate_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// a -> b -> c, and the message of validate(); "" where it accepts.
struct Chain {
  ProgramBuilder build{DType::f32};
  TensorId a = build.parameter({"a", 12, 1}), b = build.activation("b", 12, 1),
           c = build.activation("c", 12, 1);

  void add(std::vector<Use> reads, std::vector<Use> writes) {
    build.op(Gelu{}, "gelu", {}, {}, 0, Phase::forward);
    build.program.ops.back().reads = std::move(reads);
    build.program.ops.back().writes = std::move(writes);
  }
  void write_b(Slice slice = {}) { add({{a, slice}}, {{b, slice}}); }
  void read_b(Slice slice = {}) { add({{b, slice}}, {}); }
  std::string refusal() const {
    try {
      validate(build.program);
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  }
};

TEST(Validate, NamesTheOpThatReadsTooEarly) {
  Chain p;
  p.add({{p.b}}, {{p.c}});
  EXPECT_EQ(p.refusal(), "op 0 \"gelu\": reads b before it is written");
}

TEST(Validate, InputsParametersAndTheirStateNeedNoWriterButGradientsDo) {
  ProgramBuilder build(DType::f32);
  const TensorId tokens = build.input("tokens", 4), weight = build.parameter({"w", 4, 1}),
                 moment = build.state_like(weight, "moment"), out = build.activation("y", 4, 1);
  for (const TensorId read : {tokens, weight, moment}) {
    build.program.ops.clear();
    const OpKind kind = read == tokens ? OpKind(HashTokens{}) : OpKind(Gelu{});
    build.op(kind, "reader", {read}, {out}, 0, Phase::forward);
    EXPECT_NO_THROW(validate(build.program)) << read;
  }
  build.program.ops.clear();
  build.op(Gelu{}, "gelu", {build.gradient_of(weight)}, {out}, 0, Phase::forward);
  EXPECT_THAT([&] { validate(build.program); },
              ThrowsMessage<std::logic_error>(HasSubstr("reads d_w before it is written")));
}

TEST(Validate, APartlyWrittenTensorIsReadWhereItIsWritten) {
  // Cells of a twelfth, written and read in slices of any fraction, against a list of cells.
  constexpr int kCells = 12;
  constexpr std::array counts{1, 2, 3, 4, 6, 12};
  std::mt19937 random(11);
  const auto slice = [&] {
    Slice s;
    s.count = counts[random() % counts.size()];
    s.index = static_cast<int>(random() % static_cast<unsigned>(s.count));
    s.span = 1 + static_cast<int>(random() % static_cast<unsigned>(s.count - s.index));
    return s;
  };
  int refused = 0, accepted = 0;
  for (int round = 0; round < 500; ++round) {
    Chain p;
    std::array<bool, kCells> written{};
    for (unsigned i = random() % 5; i-- > 0;) {
      const Slice s = slice();
      p.write_b(s);
      p.read_b(s);  // so that no later write loses it
      for (int cell = s.index * kCells / s.count; cell < (s.index + s.span) * kCells / s.count;
           ++cell) {
        written[static_cast<std::size_t>(cell)] = true;
      }
    }
    const Slice s = slice();
    p.read_b(s);
    bool all = true;
    for (int cell = s.index * kCells / s.count; cell < (s.index + s.span) * kCells / s.count;
         ++cell) {
      all = all && written[static_cast<std::size_t>(cell)];
    }
    ASSERT_EQ(p.refusal().empty(), all) << to_text(p.build.program);
    ++(all ? accepted : refused);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(Validate, RefusesToOverwriteWhatNothingHasRead) {
  Chain p;
  p.write_b({0, 2});
  p.write_b({1, 2});
  p.read_b({0, 2});
  Chain again = p;
  again.write_b({0, 2});
  EXPECT_EQ(again.refusal(), "");
  p.write_b();
  EXPECT_EQ(p.refusal(), "op 3 \"gelu\": overwrites b, which nothing has read");
}

TEST(Validate, ANewWriteIsUnreadUntilItIsReadItself) {
  Chain p;
  p.write_b();
  p.read_b();
  p.write_b();
  EXPECT_EQ(p.refusal(), "");
  p.write_b();
  EXPECT_THAT(p.refusal(), HasSubstr("op 3 \"gelu\": overwrites b"));
}

TEST(Validate, AnOpMayOverwriteWhatItReads) {
  Chain p;
  p.write_b();
  p.add({{p.b}}, {{p.b}});
  EXPECT_EQ(p.refusal(), "");
}

TEST(Validate, AWindowHoldsTheSliceLastWrittenAndNoOther) {
  const auto window = [] {
    Chain p;
    Tensor& b = p.build.program.tensors[static_cast<std::size_t>(p.b)];
    b.windows = 4;
    b.first_window = 1;
    b.window_step = 2;
    p.write_b({1, 4});
    return p;
  };
  Chain taken_in_turn = window();
  taken_in_turn.read_b({1, 4});
  taken_in_turn.write_b({3, 4});
  taken_in_turn.read_b({3, 4});
  EXPECT_EQ(taken_in_turn.refusal(), "");
  Chain gone = taken_in_turn;
  gone.read_b({1, 4});
  EXPECT_THAT(gone.refusal(), HasSubstr("reads b before it is written"));
  Chain unread = window();
  unread.write_b({3, 4});
  EXPECT_THAT(unread.refusal(), HasSubstr("overwrites b, which nothing has read"));
  Chain others = window();
  others.read_b({2, 4});
  EXPECT_THAT(others.refusal(),
              HasSubstr("uses share 2 of 4 of b, which holds share 1 and every 2-th"));
  Chain whole = window();
  whole.read_b();
  EXPECT_THAT(whole.refusal(), HasSubstr("uses share 0 of 1 of b"));
}

TEST(Validate, RefusesASliceOutsideItsCount) {
  const auto with = [](Slice slice) {
    Chain p;
    p.write_b(slice);
    return p.refusal();
  };
  EXPECT_EQ(with({2, 3}), "");
  EXPECT_EQ(with({1, 3, 2}), "");
  EXPECT_THAT(with({2, 2}), HasSubstr("shares 2 to 3 of 2 of a"));
  EXPECT_THAT(with({1, 2, 2}), HasSubstr("shares 1 to 3 of 2 of a"));
  EXPECT_THAT(with({-1, 2}), HasSubstr("shares -1 to 0 of 2 of a"));
  EXPECT_THAT(with({0, 2, 0}), HasSubstr("shares 0 to 0 of 2 of a"));
  EXPECT_THAT(with({0, 0}), HasSubstr("of 0 of a"));
}

TEST(Validate, RefusesATensorThatIsNotThere) {
  for (const TensorId missing : {-1, 4}) {
    Chain p;
    p.add({{missing}}, {{p.b}});
    EXPECT_EQ(p.refusal(), "op 0 \"gelu\": uses tensor " + std::to_string(missing) + " of 4");
  }
}

TEST(Validate, RefusesMoreOperandsThanTheKindHas) {
  Chain p;
  p.add({{p.a}, {p.a}}, {{p.b}});
  EXPECT_EQ(p.refusal(), "op 0 \"gelu\": has 2 reads and 1 writes, but a gelu has at most 1 and 1");
  Chain q;
  q.add({{q.a}}, {{q.b}, {q.c}});
  EXPECT_THAT(q.refusal(), HasSubstr("1 reads and 2 writes"));
}

TEST(Validate, HoldsOperandsToTheTypesThatTheirOpStates) {
  ProgramBuilder build(DType::bf16);
  const TensorId x = build.parameter({"x", 4, 6}), scale = build.parameter({"scale", 1, 6}),
                 y = build.activation("y", 4, 6), narrow = build.activation("narrow", 4, 1),
                 wide = build.wide("wide", 4, 1), ids = build.input("ids", 4);
  const auto refusal = [&](OpKind kind, std::vector<TensorId> reads,
                           std::vector<TensorId> writes) -> std::string {
    build.program.ops.clear();
    build.op(std::move(kind), "op", std::move(reads), std::move(writes), 0, Phase::forward);
    try {
      validate(build.program);
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(RmsNorm{}, {x, scale}, {y, wide}), "");
  EXPECT_EQ(refusal(RmsNorm{}, {x, scale}, {y, narrow}),
            "op 0 \"op\": has narrow in bf16 where f32 belongs");
  EXPECT_EQ(refusal(Gelu{}, {x}, {wide}), "op 0 \"op\": has wide in f32 where bf16 belongs");
  EXPECT_EQ(refusal(HashTokens{}, {ids}, {wide}), "");
  EXPECT_EQ(refusal(Linear{}, {x, x}, {wide}), "") << "a product writes either";
}

}  // namespace
}  // namespace moe::validate_test
