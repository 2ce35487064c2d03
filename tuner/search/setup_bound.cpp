#include "tuner/search/setup_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "moe/model/iteration.h"
#include "tuner/search/least_recomputation.h"

namespace tuner {
namespace {

/// The pieces in the order of rows. Stages cut them between blocks.
std::vector<const PieceCost*> pieces_in_turn(const SetupPieces& pieces, const moe::Model& model) {
  std::vector<const PieceCost*> all{&pieces.first};
  for (int block = 0; block < model.blocks; ++block) {
    all.push_back(&pieces.blocks.at(kind_of_block(model, block)));
  }
  all.push_back(&pieces.last);
  return all;
}

double largest(const std::vector<double>& seconds) {
  return seconds.empty() ? 0 : std::ranges::max(seconds);
}

/// The value at the place where `by` is largest.
double at_longest(const std::vector<double>& seconds, const std::vector<double>& by) {
  const auto place = static_cast<std::size_t>(std::ranges::max_element(by) - by.begin());
  return at_place(seconds, place);
}

void sum_up(std::vector<double>& sum, const std::vector<double>& more, double times = 1) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += times * more[i];
}

/// The pieces as stages cut them, in the order of rows.
struct PiecesInTurn {
  struct Piece {
    std::size_t kind = 0;
    double forward_s = 0, pass_s = 0, once_s = 0;
    std::int64_t state_bytes = 0, kept_bytes = 0, least_kept_bytes = 0;
  };
  std::vector<Piece> pieces;
  std::size_t kinds = 0;
  LeastRecomputation again;
};

/// Times are those of the place in the stages where all together take longest. `again`: the times of
/// what is computed again.
PiecesInTurn in_turn(const SetupPieces& pieces, const moe::Model& model,
                     std::vector<double> KeptActivations::*again = &KeptActivations::again_s) {
  const std::vector<const PieceCost*> all = pieces_in_turn(pieces, model);
  std::vector<double> sum;
  for (const PieceCost* const piece : all) sum_up(sum, piece->pass_s);
  const auto place = static_cast<std::size_t>(std::ranges::max_element(sum) - sum.begin());
  std::vector<const PieceCost*> kinds;
  std::vector<PiecesInTurn::Piece> turn;
  for (const PieceCost* const piece : all) {
    const auto kind = std::ranges::find(kinds, piece);
    turn.push_back({.kind = static_cast<std::size_t>(kind - kinds.begin()),
                    .forward_s = at_place(piece->forward_s, place),
                    .pass_s = at_place(piece->pass_s, place),
                    .once_s = at_place(piece->once_s, place),
                    .state_bytes = piece->state_bytes,
                    .kept_bytes = piece->kept.empty() ? 0 : piece->kept.front().bytes,
                    .least_kept_bytes = piece->least_kept_bytes()});
    if (kind == kinds.end()) kinds.push_back(piece);
  }
  return {std::move(turn), kinds.size(), LeastRecomputation(kinds, place, again)};
}

/// A stage, as it takes one piece after the other.
class Stage {
 public:
  /// `under_way`: of how many micro-batches it keeps activations.
  Stage(const PiecesInTurn& turn, int under_way, std::int64_t memory_bytes)
      : turn_(turn),
        under_way_(under_way),
        memory_bytes_(static_cast<double>(memory_bytes)),
        counts_(turn.kinds) {}

  void take(const PiecesInTurn::Piece& piece) {
    forward_s_ += piece.forward_s;
    pass_s_ += piece.pass_s;
    once_s_ += piece.once_s;
    bytes_ += static_cast<double>(piece.state_bytes + under_way_ * piece.kept_bytes);
    ++counts_[piece.kind];
  }
  double forward_s() const { return forward_s_; }
  double once_s() const { return once_s_; }
  /// Without what is computed again.
  double pass_s() const { return pass_s_; }
  /// With what must be; infinite where the memory does not do.
  double whole_pass_s() const {
    return bytes_ <= memory_bytes_
               ? pass_s_
               : pass_s_ + turn_.again.seconds(counts_, (bytes_ - memory_bytes_) / under_way_);
  }

 private:
  const PiecesInTurn& turn_;
  int under_way_;
  double memory_bytes_;
  std::vector<int> counts_;  ///< [kind]
  double forward_s_ = 0, pass_s_ = 0, once_s_ = 0, bytes_ = 0;
};

/// Whether stages that are filled and drained can have the pieces within so much time and so many
/// bytes of a rank. A stage waits for forward of all before it, then has m passes of its own, and then
/// backward of those before is left, and beside it what the stage does once. It keeps what as many
/// micro-batches keep as there are stages from it on. Each takes all that it may: that is least for the
/// later ones, of which each keeps less.
bool can_be_cut(const PiecesInTurn& turn, const TrainingSetup& setup, double most_s,
                std::int64_t most_bytes) {
  double forward_before_s = 0, before_s = 0;
  auto next = turn.pieces.begin();
  for (int i = 0; i < setup.layout.pipeline && next != turn.pieces.end(); ++i) {
    Stage stage(turn, std::min(setup.micro_batches, setup.layout.pipeline - i), most_bytes);
    double forward_s = 0, pass_s = 0;
    for (; next != turn.pieces.end(); ++next) {
      stage.take(*next);
      const double beside_s = std::max(before_s, forward_before_s + stage.once_s());
      if (!(beside_s + setup.micro_batches * stage.whole_pass_s() <= most_s)) break;
      forward_s = stage.forward_s();
      pass_s = stage.pass_s();
    }
    forward_before_s += forward_s;
    before_s += pass_s;
  }
  return next == turn.pieces.end();
}

/// The least value for which `is_enough` holds, from below and to 1e-6 of it; 0 where 0 is enough.
template <class IsEnough>
double least_enough(double enough, const IsEnough& is_enough) {
  if (is_enough(0.0)) return 0;
  double too_little = 0;
  while (enough - too_little > 1e-6 * enough) {
    const double middle = (too_little + enough) / 2;
    (is_enough(middle) ? enough : too_little) = middle;
  }
  return too_little;
}

constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();

double filled_and_drained_s(const PiecesInTurn& turn, const TrainingSetup& setup,
                            std::int64_t most_bytes) {
  // Forward of all is computed again at most.
  double most_s = 0;
  for (const PiecesInTurn::Piece& piece : turn.pieces) {
    most_s += 3 * setup.micro_batches * piece.pass_s + piece.once_s;
  }
  if (!can_be_cut(turn, setup, most_s, most_bytes)) return 0;
  return least_enough(most_s,
                      [&](double some_s) { return can_be_cut(turn, setup, some_s, most_bytes); });
}

/// What all stages compute again for one micro-batch, together, where one is under way; 0 where that
/// does not fit.
double computed_again_s(const PiecesInTurn& turn, const TrainingSetup& setup,
                        std::int64_t memory_bytes) {
  if (memory_bytes > kAnyBytes / setup.layout.pipeline) return 0;
  Stage all(turn, 1, memory_bytes * setup.layout.pipeline);
  for (const PiecesInTurn::Piece& piece : turn.pieces) all.take(piece);
  const double again_s = all.whole_pass_s() - all.pass_s();
  return std::isfinite(again_s) ? again_s : 0;
}

}  // namespace

double bound_s(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
               Passes passes, std::int64_t limit_bytes) {
  const std::int64_t memory_bytes = limit_bytes == 0 ? kAnyBytes : limit_bytes;
  const int stages = setup.layout.pipeline;
  const double m = setup.micro_batches;
  std::vector<double> pass_s, computing_s, once_s, first_once_s;
  int block = -1;  // the first piece is of no block, and the last of none either
  for (const PieceCost* const piece : pieces_in_turn(pieces, model)) {
    sum_up(pass_s, piece->pass_s, m);
    sum_up(computing_s, piece->computing_s, m);
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
    case Passes::filled_and_drained:
      return std::max(filled_and_drained_s(in_turn(pieces, model), setup, memory_bytes),
                      bound_s(pieces, model, setup, Passes::bubbles_filled, limit_bytes));
    case Passes::exchanges_hidden: {
      std::vector<double> moving_s = pass_s;
      sum_up(moving_s, computing_s, -1);
      return std::max(
          {at_longest(computing_s, pass_s) + all_again_s(&KeptActivations::again_computing_s),
           largest(moving_s), (largest(pass_s) + all_again_s(&KeptActivations::again_s)) / 2});
    }
    case Passes::bubbles_filled:
      sum_up(once_s, pass_s);
      return (at_longest(once_s, pass_s) + all_again_s(&KeptActivations::again_s)) / stages;
    case Passes::undecided:
      return largest(computing_s) / stages;
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
  const PiecesInTurn turn = in_turn(pieces, model);
  std::int64_t all = 0;
  for (const PiecesInTurn::Piece& piece : turn.pieces) {
    all += piece.state_bytes + setup.layout.pipeline * piece.least_kept_bytes;
  }
  constexpr double kAnySeconds = std::numeric_limits<double>::max();
  const double least = least_enough(static_cast<double>(all), [&](double bytes) {
    return can_be_cut(turn, setup, kAnySeconds, static_cast<std::int64_t>(bytes));
  });
  return std::max(of_one, static_cast<std::int64_t>(least));
}

std::int64_t state_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup) {
  return least_on_fullest(pieces, model, setup,
                          [](const PieceCost& piece) { return piece.state_bytes; });
}

}  // namespace tuner
