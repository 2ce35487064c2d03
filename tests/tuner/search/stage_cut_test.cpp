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

int up_to(int most, std::mt19937& random) {
  return static_cast<int>(random() % static_cast<unsigned>(most)) + 1;
}

/// Blocks of one kind or two, and what is outside of them. A block keeps some bytes or, computed again,
/// one.
SetupPieces drawn_pieces(const moe::Model& model, std::mt19937& random) {
  SetupPieces pieces;
  for (int block = 0; block < model.blocks; ++block) pieces.blocks[kind_of_block(model, block)];
  const auto draw = [&](PieceCost& piece) {
    piece.forward_s = {static_cast<double>(up_to(5, random))};
    piece.pass_s = {piece.forward_s[0] + up_to(10, random)};
    piece.once_s = {static_cast<double>(up_to(20, random))};
    piece.state_bytes = up_to(9, random);
  };
  for (auto& [kind, block] : pieces.blocks) {
    draw(block);
    block.kept = {{1 + up_to(9, random), 0, {}, {}}, {1, 0, block.forward_s, {}}};
  }
  draw(pieces.first);
  draw(pieces.last);
  return pieces;
}

/// The least time in which these blocks are computed again so that so many bytes go; infinite where
/// they do not.
double again_s(const std::vector<const PieceCost*>& blocks, std::int64_t bytes, int under_way,
               std::size_t from = 0) {
  if (bytes <= 0) return 0;
  if (from == blocks.size()) return std::numeric_limits<double>::infinity();
  const PieceCost& block = *blocks[from];
  const std::int64_t freed = under_way * (block.kept[0].bytes - block.kept[1].bytes);
  return std::min(block.kept[1].again_s[0] + again_s(blocks, bytes - freed, under_way, from + 1),
                  again_s(blocks, bytes, under_way, from + 1));
}

/// The time of a cut; infinite where it does not fit. Each stage has other memory.
double seconds_of(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
                  const std::vector<int>& cut, const std::vector<std::int64_t>& memory_bytes) {
  const int stages = setup.layout.pipeline, m = setup.micro_batches;
  double all_s = 0, forward_before_s = 0, before_s = 0;
  int next = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int under_way = std::min(m, stages - stage);
    double forward_s = 0, pass_s = 0, once_s = 0;
    std::int64_t bytes = 0;
    const auto add = [&](const PieceCost& piece) {
      forward_s += piece.forward_s[0];
      pass_s += piece.pass_s[0];
      once_s += piece.once_s[0];
      bytes += piece.state_bytes;
      if (!piece.kept.empty()) bytes += under_way * piece.kept[0].bytes;
    };
    if (stage == 0) add(pieces.first);
    if (stage + 1 == stages) add(pieces.last);
    std::vector<const PieceCost*> blocks;
    for (int i = 0; i < cut[stage]; ++i, ++next) {
      blocks.push_back(&pieces.blocks.at(kind_of_block(model, next)));
      add(*blocks.back());
    }
    const double more_s = again_s(blocks, bytes - memory_bytes[stage], under_way);
    all_s = std::max(all_s, std::max(before_s, forward_before_s + once_s) + m * (pass_s + more_s));
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
  constexpr double kNever = std::numeric_limits<double>::infinity();
  int none = 0, restored = 0, unequal = 0, illegal = 0;
  for (int draw = 0; draw < 400; ++draw) {
    SCOPED_TRACE(draw);
    const int blocks = 1 + up_to(7, random);
    const int stages = up_to(std::min(blocks, 4), random);
    moe::Model model = test::small_setup_model(blocks, 64);
    model.moe_every = 1;
    if (draw % 2 == 0) model.dense_blocks = up_to(blocks, random) - 1;
    const SetupPieces pieces = drawn_pieces(model, random);
    const TrainingSetup setup{
        {1, 1, 1, 1, stages}, moe::BatchPer::rank, 1 << (up_to(5, random) - 1)};
    std::vector<std::int64_t> memory_bytes(static_cast<std::size_t>(stages),
                                           10 + up_to(150, random));
    const std::int64_t equal_bytes = memory_bytes.front();
    const std::vector<std::int64_t> any(memory_bytes.size(), kAnyBytes);
    double least_s = kNever, freely_s = kNever;
    bool fits_equally = false;
    std::vector<int> cut;
    for_each_cut(blocks, stages, cut, [&](const std::vector<int>& one) {
      fits_equally = fits_equally || seconds_of(pieces, model, setup, one, memory_bytes) < kNever;
    });
    const PiecesInTurn turn = in_turn(pieces, model);
    if (fits_equally) {
      EXPECT_LE(least_bytes_of_cut(turn, setup), equal_bytes);
    }
    for (std::int64_t& bytes : memory_bytes) bytes += up_to(10, random);
    for_each_cut(blocks, stages, cut, [&](const std::vector<int>& one) {
      least_s = std::min(least_s, seconds_of(pieces, model, setup, one, memory_bytes));
      freely_s = std::min(freely_s, seconds_of(pieces, model, setup, one, any));
    });
    const auto found = fastest_cut(turn, setup, memory_bytes);
    if (!found) {
      EXPECT_EQ(least_s, kNever);
      ++none;
      continue;
    }
    EXPECT_LE(found->least_s, least_s);
    if (found->blocks.empty()) {
      ++illegal;
      continue;
    }
    EXPECT_NEAR(found->least_s, least_s, 1e-5 * least_s);
    EXPECT_NEAR(seconds_of(pieces, model, setup, found->blocks, memory_bytes), least_s,
                1e-5 * least_s);
    if (least_s > freely_s) ++restored;
    if (std::ranges::max(found->blocks) > std::ranges::min(found->blocks) + 1) ++unequal;
  }
  EXPECT_GT(none, 5);
  EXPECT_GT(restored, 40);
  EXPECT_GT(unequal, 40);
  EXPECT_LT(illegal, 40);
}

/// Stages that take all that they may leave a heavy block to one that cannot hold it with as much under
/// way as it has. A cut in which an early stage takes less fits.
TEST(StageCut, OfTwoKindsIsNotMissed) {
  moe::Model model = test::small_setup_model(8, 64);
  model.moe_every = 1;
  model.dense_blocks = 4;
  SetupPieces pieces;
  const auto fill = [](PieceCost& piece, std::int64_t states, std::int64_t kept) {
    piece.forward_s = piece.pass_s = {1};
    piece.state_bytes = states;
    piece.kept = {{kept, 0, {}, {}}};
  };
  fill(pieces.blocks[kind_of_block(model, 0)], 1, 1);
  fill(pieces.blocks[kind_of_block(model, 4)], 4, 10);
  pieces.first.forward_s = pieces.first.pass_s = pieces.last.forward_s = pieces.last.pass_s = {0};
  const TrainingSetup setup{{1, 1, 1, 1, 5}, moe::BatchPer::rank, 8};
  const std::vector<std::int64_t> memory(5, 35);
  EXPECT_TRUE(fastest_cut(in_turn(pieces, model), setup, memory).has_value());
  EXPECT_LE(least_bytes_of_cut(in_turn(pieces, model), setup), 35);
}

}  // namespace
}  // namespace tuner::stage_cut_test
