#include "tuner/costs/message_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tuner {
namespace {

/// Buffers that are compared, and the ranks by which.
constexpr std::size_t kMostCandidates = 41;
constexpr std::size_t kMostRanks = 1000;

/// At most kMostCandidates of the values, evenly by rank, and 0; ascending.
std::vector<double> candidates(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<double> chosen{0};
  for (std::size_t i = 0; i < kMostCandidates; ++i) {
    const double value = values[(values.size() - 1) * i / (kMostCandidates - 1)];
    if (value > chosen.back()) chosen.push_back(value);
  }
  return chosen;
}

/// The bytes that a rank waits for after it has come.
double bytes_waited_for(const LastToCome& rank, const MessageBuffers& buffers, double beta) {
  const double ahead = std::min(rank.peers * buffers.ahead_bytes, rank.later_s / beta);
  return std::max(
      {rank.out_bytes - rank.peers * buffers.leaving_bytes, rank.in_bytes - ahead, 0.0});
}

}  // namespace

MessageBuffers message_buffers(std::span<const LastToCome> ranks, const LinearFit& alone) {
  const double beta = alone.beta_s_per_unit;
  if (ranks.empty() || !(beta > 0)) return {};
  const std::size_t step = (ranks.size() + kMostRanks - 1) / kMostRanks;
  std::vector<LastToCome> some;
  for (std::size_t i = 0; i < ranks.size(); i += step) some.push_back(ranks[i]);
  std::vector<double> leaving, ahead;
  for (const LastToCome& rank : some) {
    const double left = (rank.seconds - alone.alpha_s) / beta;
    leaving.push_back((rank.out_bytes - std::max(left, 0.0)) / rank.peers);
    ahead.push_back(std::min(rank.in_bytes, rank.later_s / beta) / rank.peers);
  }
  MessageBuffers best;
  double least = std::numeric_limits<double>::infinity();
  for (const double leaving_bytes : candidates(leaving)) {
    for (const double ahead_bytes : candidates(ahead)) {
      const MessageBuffers buffers{leaving_bytes, ahead_bytes};
      double error = 0;
      for (const LastToCome& rank : some) {
        error +=
            std::abs(rank.seconds - seconds_of(alone, 1, bytes_waited_for(rank, buffers, beta)));
      }
      if (error >= least) continue;
      least = error;
      best = buffers;
    }
  }
  return best;
}

}  // namespace tuner
