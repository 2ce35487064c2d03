#include "moe/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/program/program_builder.h"

namespace moe::program_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x -> y; the op's uses cut to a slice.
void add(ProgramBuilder& build, TensorId x, TensorId y, Slice slice = {}) {
  build.op(Gelu{}, "gelu", {x}, {y}, 0, Phase::forward);
  build.program.ops.back().reads[0].slice = slice;
  build.program.ops.back().writes[0].slice = slice;
}

struct Chain {
  ProgramBuilder build{DType::f32};
  TensorId a = build.input("a", 4), b = build.activation("b", 4, 1),
           c = build.activation("c", 4, 1);
};

TEST(Dependencies, AReaderWaitsForTheLastWriterOfWhatItReads) {
  Chain p;
  add(p.build, p.a, p.b);
  add(p.build, p.b, p.c);
  EXPECT_THAT(dependencies(p.build.program)[1], ElementsAre(0));
}

TEST(Dependencies, AnOverwriterWaitsForReadersAndWriters) {
  Chain p;
  add(p.build, p.a, p.b);  // 0 writes b
  add(p.build, p.b, p.c);  // 1 reads b
  add(p.build, p.a, p.b);  // 2 overwrites b
  EXPECT_THAT(dependencies(p.build.program)[2], ElementsAre(0, 1));
}

TEST(Dependencies, SlicesThatDoNotOverlapDoNotWait) {
  Chain p;
  add(p.build, p.a, p.b, {0, 2});
  add(p.build, p.a, p.b, {1, 2});
  add(p.build, p.b, p.c, {0, 3});  // within the first half
  add(p.build, p.b, p.c, {1, 3});  // across both
  const auto waits = dependencies(p.build.program);
  EXPECT_TRUE(waits[1].empty());
  EXPECT_THAT(waits[2], ElementsAre(0));
  EXPECT_THAT(waits[3], ElementsAre(0, 1));
}

TEST(Dependencies, SlicesOfAWindowWaitForEachOther) {
  Chain p;
  p.build.program.tensors[static_cast<std::size_t>(p.b)].windows = 3;
  add(p.build, p.a, p.b, {0, 3});
  add(p.build, p.b, p.c, {0, 3});
  add(p.build, p.a, p.b, {1, 3});  // takes the place of the first
  add(p.build, p.b, p.c, {1, 3});
  const auto waits = dependencies(p.build.program);
  EXPECT_THAT(waits[2], ElementsAre(0, 1));
  EXPECT_THAT(waits[3], ElementsAre(2));
}

TEST(Dependencies, AWriteOfTheWholeHidesWhatCameBefore) {
  Chain p;
  add(p.build, p.a, p.b);
  add(p.build, p.a, p.b);
  add(p.build, p.b, p.c);
  EXPECT_THAT(dependencies(p.build.program)[2], ElementsAre(1));
}

TEST(ToText, ShowsChunksAndStreams) {
  Chain p;
  add(p.build, p.a, p.b, {1, 2});
  p.build.program.ops[0].chunk = {1, 2};
  EXPECT_THAT(to_text(p.build.program), HasSubstr("2/2 compute"));
  EXPECT_THAT(to_text(p.build.program), HasSubstr("a[2/2] -> b[2/2]"));
}

TEST(WholeElement, OfColumnsInGroups) {
  // q, k, v of 6 columns each side by side; this rank holds columns 2 and 3 of each, of 5 rows.
  const Shard shard{0, 5, 0, 5, 6, 18, {6, 6, 6}};
  EXPECT_EQ(whole_element(shard, 6, 0), 2);            // q
  EXPECT_EQ(whole_element(shard, 6, 3), 6 + 3);        // k
  EXPECT_EQ(whole_element(shard, 6, 6 + 4), 18 + 14);  // v of the second row
  // q of 8 columns, k and v of 4 each; the second half of each, of 5 rows.
  const Shard uneven{0, 5, 0, 5, 8, 16, {8, 4, 4}};
  EXPECT_EQ(whole_element(uneven, 8, 3), 4 + 3);
  EXPECT_EQ(whole_element(uneven, 8, 4), 8 + 2);
  EXPECT_EQ(whole_element(uneven, 8, 8 + 7), 16 + 12 + 3);
}

}  // namespace
}  // namespace moe::program_test
