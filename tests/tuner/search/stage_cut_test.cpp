#include "tuner/search/stage_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tests/tuner/search/small_setups.h"

/// Cuts beside all others that there are.
namespace tuner::stage_cut_test {
namespace {

/// One kind of block, and what is outside of them. A block keeps 8 bytes or, computed again, 1.
SetupPieces drawn_pieces(const moe::Model& model, std::mt19937& random) {
  const auto up_to = [&](int most) {
    return static_cast<double>(random() % static_cast<unsigned>(most) + 1);
  };
  SetupPieces pieces;
  PieceCost& block = pieces.blocks[kind_of_block(model, 0)];
  for (PieceCost* const piece : {&block, &pieces.first, &pieces.last}) {
    piece->forward_s = {up_to(5)};
    piece->pass_s = {piece->forward_s[0] + up_to(10)};
    piece->once_s = {up_to(20)};
    piece->state_bytes = static_cast<std::int64_t>(up_to(9));
  }
  block.kept = {{8, 0, {}, {}}, {1, 0, block.forward_s, {}}};
  return pieces;
}

/// The time of a cut; infinite where it does not fit.
double seconds_of(const SetupPieces& pieces, const TrainingSetup& setup,
                  const std::vector<int>& blocks, std::int64_t memory_bytes) {
  const PieceCost& block = pieces.blocks.begin()->second;
  const int stages = setup.layout.pipeline, m = setup.micro_batches;
  double all_s = 0, forward_before_s = 0, before_s = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int under_way = std::min(m, stages - stage), count = blocks[stage];
    double forward_s = count * block.forward_s[0], pass_s = count * block.pass_s[0],
           once_s = count * block.once_s[0];
    std::int64_t bytes = count * (block.state_bytes + 8 * under_way);
    const auto add = [&](const PieceCost& piece) {
      forward_s += piece.forward_s[0];
      pass_s += piece.pass_s[0];
      once_s += piece.once_s[0];
      bytes += piece.state_bytes;
    };
    if (stage == 0) add(pieces.first);
    if (stage + 1 == stages) add(pieces.last);
    int again = 0;
    while (bytes > memory_bytes && again < count) {
      bytes -= 7 * under_way;
      ++again;
    }
    if (bytes > memory_bytes) return std::numeric_limits<double>::infinity();
    all_s = std::max(all_s, std::max(before_s, forward_before_s + once_s) +
                                m * (pass_s + again * block.forward_s[0]));
    forward_before_s += forward_s;
    before_s += pass_s;
  }
  return all_s;
}

/// Calls it with every way to give each stage at least one of the blocks.
template <class See>
void for_each_cut(int blocks, int stages, std::vector<int>& cut, const See& see) {
  if (stages == 1) {
    cut.push_back(blocks);
    see(cut);
    cut.pop_back();
    return;
  }
  for (int first = 1; blocks - first >= stages - 1; ++first) {
    cut.push_back(first);
    for_each_cut(blocks - first, stages - 1, cut, see);
    cut.pop_back();
  }
}

TEST(StageCut, IsTheFastestOfAll) {
  std::mt19937 random(1);
  int none = 0, restored = 0, unequal = 0;
  for (int draw = 0; draw < 200; ++draw) {
    SCOPED_TRACE(draw);
    const int blocks = 2 + static_cast<int>(random() % 7);
    const int stages = 1 + static_cast<int>(random() % static_cast<unsigned>(std::min(blocks, 4)));
    moe::Model alike = test::small_setup_model(blocks, 64);
    alike.moe_every = 1;
    const SetupPieces pieces = drawn_pieces(alike, random);
    const TrainingSetup setup{
        {1, 1, 1, 1, stages}, moe::BatchPer::rank, 1 << static_cast<int>(random() % 5)};
    const std::int64_t memory_bytes = 10 + static_cast<std::int64_t>(random() % 150);
    double least_s = std::numeric_limits<double>::infinity(), freely_s = least_s;
    std::vector<int> cut;
    for_each_cut(blocks, stages, cut, [&](const std::vector<int>& one) {
      least_s = std::min(least_s, seconds_of(pieces, setup, one, memory_bytes));
      freely_s = std::min(freely_s, seconds_of(pieces, setup, one, kAnyBytes));
    });
    const std::vector<std::int64_t> of_stages(static_cast<std::size_t>(stages), memory_bytes);
    const auto found = fastest_cut(in_turn(pieces, alike), setup, of_stages);
    ASSERT_EQ(found.has_value(), least_s < std::numeric_limits<double>::infinity());
    if (!found) {
      ++none;
      continue;
    }
    EXPECT_NEAR(found->least_s, least_s, 1e-5 * least_s);
    EXPECT_NEAR(seconds_of(pieces, setup, found->blocks, memory_bytes), least_s, 1e-5 * least_s);
    if (least_s > freely_s) ++restored;
    if (std::ranges::max(found->blocks) > std::ranges::min(found->blocks) + 1) ++unequal;
  }
  EXPECT_GT(none, 5);
  EXPECT_GT(restored, 20);
  EXPECT_GT(unequal, 20);
}

}  // namespace
}  // namespace tuner::stage_cut_test
