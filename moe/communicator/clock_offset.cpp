#include "moe/communicator/clock_offset.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "moe/errors.h"

namespace moe {
namespace {

/// Of the limit that ranks have for one another: a comparison that fails must leave the ranks that
/// have ended it earlier enough of theirs.
constexpr double kShareOfLimit = 0.25;
/// After so long no further question is put to a rank: many ranks on few cores answer slowly.
constexpr double kLongestPair_s = 0.5;
constexpr double kUnknown_s = std::numeric_limits<double>::infinity();

double steady_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What ranks of a pair tell each other: of a child whether it asks again, of its parent what rank
/// 0's clock says and how exact that is.
struct Word {
  double value = 0, error_s = 0;
};

/// Two ranks; the parent is the first of its group.
class Pair {
 public:
  Pair(Communicator& ranks, const ClockComparison& how, double ends_s)
      : ranks_(ranks), how_(how), ends_s_(ends_s) {}

  void answer(const ClockOffset& own) {
    for (bool asks = true; asks;) {
      Word word;
      pass(1, 0, word);
      asks = word.value != 0;
      word = {how_.clock_s() + own.offset_s, own.error_s};
      pass(0, 1, word);
    }
  }

  /// What is known after each answer is kept in `best`, also where a later one does not come.
  void ask(ClockOffset& best) {
    const double begin_s = steady_clock_s();
    double shortest_s = kUnknown_s;
    bool asks = true;
    for (int round = 1; asks; ++round) {
      asks = round < how_.rounds && steady_clock_s() - begin_s < kLongestPair_s;
      Word word{asks ? 1.0 : 0.0, 0};
      const double asked_s = how_.clock_s();
      pass(1, 0, word);
      pass(0, 1, word);
      const double answered_s = how_.clock_s();
      if (answered_s - asked_s >= shortest_s || word.error_s == kUnknown_s) continue;
      shortest_s = answered_s - asked_s;
      best = {.offset_s = word.value - (asked_s + answered_s) / 2,
              .error_s = shortest_s / 2 + word.error_s};
    }
  }

 private:
  void pass(int from, int to, Word& word) {
    const Segment to_peer{.peer = to, .rows = 1}, from_peer{.peer = from, .rows = 1};
    const std::span<const Segment> none;
    constexpr double kShortest_s = 0.01;
    const CallContext call{.time_limit_s = std::max(ends_s_ - steady_clock_s(), kShortest_s),
                           .what = "comparison of clocks"};
    auto* bytes = reinterpret_cast<std::byte*>(&word);
    ranks_.all_to_all_v(bytes, ranks_.rank == from ? std::span(&to_peer, 1) : none, bytes,
                        ranks_.rank == to ? std::span(&from_peer, 1) : none, sizeof word, call);
  }

  Communicator& ranks_;
  const ClockComparison& how_;
  double ends_s_;
};

}  // namespace

bool is_known(const ClockOffset& offset) { return std::isfinite(offset.error_s); }

// In round k, rank r < 2^k tells rank r + 2^k what it knows of rank 0's clock: all pairs of a round
// at once, so that there are log2 of the ranks. Each pair has a group of its own, which may fail
// without the world, and a round ends by a time that follows from its number: who waits for a rank
// that waits in the round before waits longer than that one.
ClockOffset measure_clock_offset(Communicator& world, const ClockComparison& how) {
  world.barrier({.time_limit_s = how.time_limit_s, .what = "begin of the comparison of clocks"});
  std::vector<std::unique_ptr<Communicator>> groups;
  for (int half = 1; half < world.size; half *= 2) {
    const int parent = world.rank < half ? world.rank : world.rank - half;
    const bool has_pair = world.rank < 2 * half && parent + half < world.size;
    const std::array<int, 2> pair{parent, parent + half};
    groups.push_back(
        world.split(has_pair ? std::span<const int>(pair) : std::span<const int>(&world.rank, 1)));
  }
  ClockOffset own{.offset_s = 0, .error_s = world.rank == 0 ? 0 : kUnknown_s};
  const double begin_s = steady_clock_s();
  const double round_s =
      how.time_limit_s * kShareOfLimit / std::max<double>(1, static_cast<double>(groups.size()));
  for (std::size_t round = 0; round < groups.size(); ++round) {
    if (groups[round]->size == 1) continue;
    Pair pair(*groups[round], how, begin_s + static_cast<double>(round + 1) * round_s);
    try {
      if (groups[round]->rank == 0) {
        pair.answer(own);
      } else {
        pair.ask(own);
      }
    } catch (const TimeLimit&) {  // the offset is unknown, and training goes on
    } catch (const Interrupted&) {
      throw;
    } catch (const CommunicationError&) {  // the same, and the other one of the pair knows why
    }
  }
  return own;
}

ClockOffset measure_clock_offset(Communicator& world, double time_limit_s, int rounds) {
  return measure_clock_offset(
      world, {.time_limit_s = time_limit_s, .rounds = rounds, .clock_s = steady_clock_s});
}

}  // namespace moe
