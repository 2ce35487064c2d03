#include "tuner/search/setup_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "moe/model/iteration.h"

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

void sum_up(std::vector<double>& sum, const std::vector<double>& more, double times = 1) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += times * more[i];
}

struct PieceInTurn {
  double pass_s = 0;
  std::int64_t state_bytes = 0, kept_bytes = 0;
};

/// Times are those of the place in the stages where all together take longest.
std::vector<PieceInTurn> in_turn(const SetupPieces& pieces, const moe::Model& model) {
  const std::vector<const PieceCost*> all = pieces_in_turn(pieces, model);
  std::vector<double> sum;
  for (const PieceCost* const piece : all) sum_up(sum, piece->pass_s);
  const auto place = static_cast<std::size_t>(std::ranges::max_element(sum) - sum.begin());
  std::vector<PieceInTurn> turn;
  for (const PieceCost* const piece : all) {
    const double pass_s = place < piece->pass_s.size() ? piece->pass_s[place] : 0;
    turn.push_back({pass_s, piece->state_bytes, piece->kept_bytes});
  }
  return turn;
}

/// Whether stages that are filled and drained can have the pieces within so much time and so many
/// bytes of a rank. A stage waits for a pass of all before it and then has m of its own. It keeps
/// what as many micro-batches keep as there are stages from it on. Each takes all that it may: that
/// is least for the later ones, of which each keeps less.
bool can_be_cut(const std::vector<PieceInTurn>& turn, const TrainingSetup& setup, double most_s,
                std::int64_t most_bytes) {
  double before_s = 0;
  std::size_t next = 0;
  for (int stage = 0; stage < setup.layout.pipeline && next < turn.size(); ++stage) {
    const int under_way = std::min(setup.micro_batches, setup.layout.pipeline - stage);
    double pass_s = 0;
    std::int64_t bytes = 0;
    for (; next < turn.size(); ++next) {
      const PieceInTurn& piece = turn[next];
      const std::int64_t more = piece.state_bytes + under_way * piece.kept_bytes;
      if (before_s + setup.micro_batches * (pass_s + piece.pass_s) > most_s) break;
      if (bytes + more > most_bytes) break;
      pass_s += piece.pass_s;
      bytes += more;
    }
    before_s += pass_s;
  }
  return next == turn.size();
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

double filled_and_drained_s(const SetupPieces& pieces, const moe::Model& model,
                            const TrainingSetup& setup, std::int64_t most_bytes) {
  const std::vector<PieceInTurn> turn = in_turn(pieces, model);
  double all_s = 0;
  for (const PieceInTurn& piece : turn) all_s += piece.pass_s;
  const double one_stage_s = setup.micro_batches * all_s;
  if (!can_be_cut(turn, setup, one_stage_s * 2, most_bytes)) return 0;
  return least_enough(one_stage_s * 2,
                      [&](double most_s) { return can_be_cut(turn, setup, most_s, most_bytes); });
}

}  // namespace

double bound_s(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
               Passes passes, std::int64_t memory_bytes) {
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
  switch (passes) {
    case Passes::one_after_other:
      sum_up(first_once_s, pass_s);
      return largest(first_once_s);
    case Passes::filled_and_drained:
      return std::max(
          filled_and_drained_s(pieces, model, setup, memory_bytes == 0 ? kAnyBytes : memory_bytes),
          bound_s(pieces, model, setup, Passes::bubbles_filled));
    case Passes::exchanges_hidden: {
      std::vector<double> moving_s = pass_s;
      sum_up(moving_s, computing_s, -1);
      return std::max(largest(computing_s), largest(moving_s));
    }
    case Passes::bubbles_filled:
      sum_up(once_s, pass_s);
      return largest(once_s) / stages;
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
    return piece.state_bytes + piece.kept_bytes;
  });
  if (passes != Passes::filled_and_drained) return of_one;
  const std::vector<PieceInTurn> turn = in_turn(pieces, model);
  std::int64_t all = 0;
  for (const PieceInTurn& piece : turn) {
    all += piece.state_bytes + setup.layout.pipeline * piece.kept_bytes;
  }
  constexpr double kAnySeconds = std::numeric_limits<double>::infinity();
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
