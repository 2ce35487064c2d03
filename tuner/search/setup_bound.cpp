#include "tuner/search/setup_bound.h"

#include <algorithm>
#include <vector>

#include "moe/model/iteration.h"
#include "tuner/search/stage_cut.h"

namespace tuner {
namespace {

double largest(const std::vector<double>& seconds) {
  return seconds.empty() ? 0 : std::ranges::max(seconds);
}

/// The value at the place where `by` is largest.
double at_longest(const std::vector<double>& seconds, const std::vector<double>& by) {
  const auto place = static_cast<std::size_t>(std::ranges::max_element(by) - by.begin());
  return at_place(seconds, place);
}

}  // namespace

double bound_s(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
               Passes passes, std::int64_t limit_bytes) {
  const std::int64_t memory_bytes = limit_bytes == 0 ? kAnyBytes : limit_bytes;
  const int stages = setup.layout.pipeline;
  const double m = setup.micro_batches;
  std::vector<double> pass_s, staying_s, once_s, first_once_s;
  int block = -1;  // the first piece is of no block, and the last of none either
  for (const PieceCost* const piece : pieces_in_turn(pieces, model)) {
    sum_up(pass_s, piece->pass_s, m);
    sum_up(staying_s, piece->staying_s, m);
    sum_up(once_s, piece->once_s);
    const int stage = block < 0              ? 0
                      : block < model.blocks ? moe::stage_of_block(block, model.blocks, stages)
                                             : stages - 1;
    if (stage == 0) sum_up(first_once_s, piece->once_s);
    ++block;
  }
  const auto all_again_s = [&](std::vector<double> KeptActivations::*again) {
    return m * computed_again_s(in_turn(pieces, model, again), setup, memory_bytes);
  };
  switch (passes) {
    case Passes::one_after_other:
      sum_up(first_once_s, pass_s);
      return at_longest(first_once_s, pass_s) + all_again_s(&KeptActivations::again_s);
    case Passes::filled_and_drained: {
      const std::vector<std::int64_t> of_stages(static_cast<std::size_t>(stages), memory_bytes);
      const auto cut = fastest_cut(in_turn(pieces, model), setup, of_stages);
      return std::max(cut ? cut->least_s : 0,
                      bound_s(pieces, model, setup, Passes::bubbles_filled, limit_bytes));
    }
    case Passes::exchanges_hidden: {
      std::vector<double> moving_s = pass_s;
      sum_up(moving_s, staying_s, -1);
      return std::max(
          {at_longest(staying_s, pass_s) + all_again_s(&KeptActivations::again_staying_s),
           largest(moving_s), (largest(pass_s) + all_again_s(&KeptActivations::again_s)) / 2});
    }
    case Passes::bubbles_filled:
      sum_up(once_s, pass_s);
      return (at_longest(once_s, pass_s) + all_again_s(&KeptActivations::again_s)) / stages;
    case Passes::undecided:
      return largest(staying_s) / stages;
  }
  return 0;
}

namespace {

/// On the fullest rank, wherever pieces are cut.
template <class Bytes>
std::int64_t least_on_fullest(const SetupPieces& pieces, const moe::Model& model,
                              const TrainingSetup& setup, const Bytes& bytes_of) {
  const int stages = setup.layout.pipeline;
  std::int64_t all = 0, most = 0;
  for (const PieceCost* const piece : pieces_in_turn(pieces, model)) {
    all += bytes_of(*piece);
    most = std::max(most, bytes_of(*piece));
  }
  return std::max(most, (all + stages - 1) / stages);
}

}  // namespace

std::int64_t least_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup, Passes passes) {
  const std::int64_t of_one = least_on_fullest(pieces, model, setup, [](const PieceCost& piece) {
    return piece.state_bytes + piece.least_kept_bytes();
  });
  if (passes != Passes::filled_and_drained) return of_one;
  return std::max(of_one, least_bytes_of_cut(in_turn(pieces, model), setup));
}

std::int64_t state_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup) {
  return least_on_fullest(pieces, model, setup,
                          [](const PieceCost& piece) { return piece.state_bytes; });
}

}  // namespace tuner
