#include "tuner/search/stage_cut.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tuner {

std::vector<const PieceCost*> pieces_in_turn(const SetupPieces& pieces, const moe::Model& model) {
  std::vector<const PieceCost*> all{&pieces.first};
  for (int block = 0; block < model.blocks; ++block) {
    all.push_back(&pieces.blocks.at(kind_of_block(model, block)));
  }
  all.push_back(&pieces.last);
  return all;
}

PiecesInTurn in_turn(const SetupPieces& pieces, const moe::Model& model,
                     std::vector<double> KeptActivations::*again) {
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

namespace {

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

/// [stage]: how many of the pieces it has, if they can be had within so much time and so many bytes
/// of a rank [stage]. Each takes all that it may, since a later one keeps less, but leaves a block for
/// each stage behind it. No legal cut comes farther with as many stages. One that may take nothing
/// stays empty, which no legal cut has.
std::optional<std::vector<std::size_t>> cut_within(const PiecesInTurn& turn,
                                                   const TrainingSetup& setup, double most_s,
                                                   std::span<const std::int64_t> memory_bytes) {
  const auto stages = static_cast<std::size_t>(setup.layout.pipeline);
  const std::size_t all = turn.pieces.size();
  std::vector<std::size_t> taken(stages);
  double forward_before_s = 0, before_s = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < stages; ++i) {
    const int left = static_cast<int>(stages - i);
    Stage stage(turn, std::min(setup.micro_batches, left), memory_bytes[i]);
    double forward_s = 0, pass_s = 0;
    const std::size_t end = left == 1 ? all : all - static_cast<std::size_t>(left);
    for (; next < end; ++next) {
      stage.take(turn.pieces[next]);
      const double beside_s = std::max(before_s, forward_before_s + stage.once_s());
      if (!(beside_s + setup.micro_batches * stage.whole_pass_s() <= most_s)) break;
      forward_s = stage.forward_s();
      pass_s = stage.pass_s();
      ++taken[i];
    }
    forward_before_s += forward_s;
    before_s += pass_s;
  }
  if (next < all) return std::nullopt;
  return taken;
}

/// The least value for which `is_enough` holds lies between, to 1e-6 of it.
struct Between {
  double too_little = 0, enough = 0;
};
/// Of `enough` that holds.
template <class IsEnough>
Between least_enough(double enough, const IsEnough& is_enough) {
  if (is_enough(0.0)) return {};
  double too_little = 0;
  while (enough - too_little > 1e-6 * enough) {
    const double middle = (too_little + enough) / 2;
    (is_enough(middle) ? enough : too_little) = middle;
  }
  return {too_little, enough};
}

}  // namespace

std::optional<StageCut> fastest_cut(const PiecesInTurn& turn, const TrainingSetup& setup,
                                    std::span<const std::int64_t> memory_bytes) {
  // Forward of all is computed again at most.
  double most_s = 0;
  for (const PiecesInTurn::Piece& piece : turn.pieces) {
    most_s += 3 * setup.micro_batches * piece.pass_s + piece.once_s;
  }
  const auto cut_in = [&](double some_s) { return cut_within(turn, setup, some_s, memory_bytes); };
  if (!cut_in(most_s)) return std::nullopt;
  const Between least =
      least_enough(most_s, [&](double some_s) { return cut_in(some_s).has_value(); });
  const std::vector<std::size_t> pieces = *cut_in(least.enough);
  StageCut cut{{}, {}, least.too_little};
  const bool has_empty = pieces.front() < 2 || std::ranges::min(pieces) < 1;
  if (has_empty) return cut;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const int under_way = std::min(setup.micro_batches, static_cast<int>(pieces.size() - i));
    const std::size_t end = next + pieces[i];
    const bool is_first = i == 0, is_last = end == turn.pieces.size();
    cut.blocks.push_back(static_cast<int>(pieces[i]) - (is_first ? 1 : 0) - (is_last ? 1 : 0));
    std::int64_t& bytes = cut.bytes.emplace_back();
    for (; next < end; ++next) {
      bytes += turn.pieces[next].state_bytes + under_way * turn.pieces[next].kept_bytes;
    }
  }
  return cut;
}

std::int64_t least_bytes_of_cut(const PiecesInTurn& turn, const TrainingSetup& setup) {
  const int stages = setup.layout.pipeline;
  std::int64_t all = 0;
  for (const PiecesInTurn::Piece& piece : turn.pieces) {
    all += piece.state_bytes + stages * piece.least_kept_bytes;
  }
  constexpr double kAnySeconds = std::numeric_limits<double>::max();
  const auto can_be_cut = [&](double bytes) {
    const std::vector<std::int64_t> memory(static_cast<std::size_t>(stages),
                                           static_cast<std::int64_t>(bytes));
    return cut_within(turn, setup, kAnySeconds, memory).has_value();
  };
  return static_cast<std::int64_t>(least_enough(static_cast<double>(all), can_be_cut).too_little);
}

double computed_again_s(const PiecesInTurn& turn, const TrainingSetup& setup,
                        std::int64_t memory_bytes) {
  if (memory_bytes > kAnyBytes / setup.layout.pipeline) return 0;
  Stage all(turn, 1, memory_bytes * setup.layout.pipeline);
  for (const PiecesInTurn::Piece& piece : turn.pieces) all.take(piece);
  const double again_s = all.whole_pass_s() - all.pass_s();
  return std::isfinite(again_s) ? again_s : 0;
}

}  // namespace tuner
