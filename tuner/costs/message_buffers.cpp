#include "tuner/costs/message_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tuner {
namespace {

/// Buffers that are compared, and the ranks by which.
constexpr std::size_t kMostCandidates = 41;
constexpr std::size_t kMostRanks = 1000;

/// Buffers count where the sum of errors is at most this share of that without them.
constexpr double kFewerErrors = 0.75;

/// Of the values at most kMostCandidates, evenly by rank, and 0; ascending.
std::vector<double> candidates(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<double> chosen{0};
  for (std::size_t i = 0; i < kMostCandidates && !values.empty(); ++i) {
    const double value = values[(values.size() - 1) * i / (kMostCandidates - 1)];
    if (value > chosen.back()) chosen.push_back(value);
  }
  return chosen;
}

/// The bytes that a rank waits for after it has come.
double bytes_waited_for(const LastToCome& rank, const MessageBuffers& buffers, double beta) {
  const double ahead = std::min(rank.in_peers * buffers.ahead_bytes, rank.later_s / beta);
  return std::max(
      {rank.out_bytes - rank.out_peers * buffers.leaving_bytes, rank.in_bytes - ahead, 0.0});
}

}  // namespace

MessageBuffers message_buffers(std::span<const LastToCome> ranks, const LinearFit& alone) {
  const double beta = alone.beta_s_per_unit;
  if (ranks.empty() || !(beta > 0)) return {};
  const std::size_t count = std::min(ranks.size(), kMostRanks);
  std::vector<LastToCome> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(ranks[i * ranks.size() / count]);
  std::vector<double> leaving, ahead;
  for (const LastToCome& rank : some) {
    const double left = std::max((rank.seconds - alone.alpha_s) / beta, 0.0);
    if (rank.out_peers > 0) leaving.push_back((rank.out_bytes - left) / rank.out_peers);
    if (rank.in_peers > 0) ahead.push_back((rank.in_bytes - left) / rank.in_peers);
  }
  const auto sum_of_errors = [&](const MessageBuffers& buffers) {
    double sum = 0;
    for (const LastToCome& rank : some) {
      sum += std::abs(rank.seconds - seconds_of(alone, 1, bytes_waited_for(rank, buffers, beta)));
    }
    return sum;
  };
  MessageBuffers best;
  const double without = sum_of_errors(best);
  double least = without;
  for (const double leaving_bytes : candidates(leaving)) {
    for (const double ahead_bytes : candidates(ahead)) {
      const MessageBuffers buffers{leaving_bytes, ahead_bytes};
      const double sum = sum_of_errors(buffers);
      if (sum >= least) continue;
      least = sum;
      best = buffers;
    }
  }
  return least <= kFewerErrors * without ? best : MessageBuffers{};
}

}  // namespace tuner
