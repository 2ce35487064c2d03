// Which calls compute attention where the workspace is small, without a device.
#include <gmock/gmock.h>

#include <tuple>

#include "moe/backend/cuda/fused_attention.cuh"

namespace moe::test::fused_calls_test {
namespace {

/// Plans that take 100 bytes for each head of k and v of a sequence, and 10 more.
class Library : public FusedLibrary {
 public:
  struct Plan : FusedPlan {
    explicit Plan(const FusedSizes& planned) : sizes(planned) {}
    std::int64_t workspace_bytes() const override {
      return 100 * sizes.sequences * sizes.key_value_heads + 10;
    }
    void run(const FusedOperands&, void*, cudaStream_t) override {}
    FusedSizes sizes;
  };
  MadePlan plan(const FusedSizes& sizes, bool gradient) override {
    if (gradient) return {nullptr, "no gradients"};
    return {std::make_unique<Plan>(sizes), ""};
  }
};

/// (first sequence, sequences, first head of k and v, heads of k and v, heads of q) of each call.
using Covered = std::tuple<int, int, int, int, int>;
std::vector<Covered> covered(const FusedSizes& whole, std::int64_t workspace_bytes) {
  Library library;
  const FusedCalls calls = plan_calls(library, whole, false, workspace_bytes);
  std::vector<Covered> found;
  for (const FusedCalls::Call& call : calls.calls) {
    EXPECT_LE(call.plan->workspace_bytes(), workspace_bytes);
    const FusedSizes& sizes = dynamic_cast<const Library::Plan&>(*call.plan).sizes;
    found.emplace_back(call.sequence, sizes.sequences, call.key_value_head, sizes.key_value_heads,
                       sizes.heads);
  }
  return found;
}

using ::testing::ElementsAre;
const FusedSizes kWhole{5, 64, 8, 4, 16, 16, 256, 128};

TEST(FusedCalls, AreOneWhereThereIsRoom) {
  EXPECT_THAT(covered(kWhole, 2010), ElementsAre(Covered{0, 5, 0, 4, 8}));
}

TEST(FusedCalls, TakeEqualPartsOfTheSequences) {
  EXPECT_THAT(covered(kWhole, 2009), ElementsAre(Covered{0, 3, 0, 4, 8}, Covered{3, 2, 0, 4, 8}));
  // Two would have room without what a plan takes beside its share.
  EXPECT_EQ(covered(kWhole, 809).size(), 5U);
  EXPECT_EQ(covered(kWhole, 810).size(), 3U);
}

TEST(FusedCalls, TakeHeadsOfOneSequence) {
  const FusedSizes two{2, 64, 8, 4, 16, 16, 256, 128};
  EXPECT_THAT(covered(two, 409), ElementsAre(Covered{0, 1, 0, 2, 4}, Covered{0, 1, 2, 2, 4},
                                             Covered{1, 1, 0, 2, 4}, Covered{1, 1, 2, 2, 4}));
  EXPECT_EQ(covered(two, 110).size(), 8U);
}

TEST(FusedCalls, AreNoneWithTheReason) {
  Library library;
  const FusedCalls small = plan_calls(library, kWhole, false, 109);
  EXPECT_TRUE(small.calls.empty());
  EXPECT_EQ(small.refusal, "it needs 110 B of workspace for the least part, and has 109 B");
  EXPECT_EQ(plan_calls(library, kWhole, true, 5000).refusal, "no gradients");
}

/// Statistics are packed, and parts of a head keep the strides of all.
TEST(FusedCalls, HaveTheLayoutOfTheirRows) {
  EXPECT_EQ(queries_layout(kWhole).token, 256);
  EXPECT_EQ(keys_layout(kWhole).sequence, 64 * 256);
  EXPECT_EQ(outputs_layout(kWhole).token, 128);
  EXPECT_EQ(statistics_layout(kWhole).sequence, 8 * 64);
  EXPECT_EQ(statistics_layout(kWhole).head, 64);
}

}  // namespace
}  // namespace moe::test::fused_calls_test
