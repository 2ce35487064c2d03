#pragma once

#include <string>
#include <vector>

namespace microbench {

/// How fast messages of one size go from each player (a node or a rank) to each other.
struct PairSpeeds {
  std::vector<std::string> names;          ///< of the players
  std::vector<std::vector<double>> speed;  ///< [from][to], any unit; the diagonal is not read
  double relative_error = 0;               ///< of a speed, as its own samples tell
  bool latency = false;                    ///< a speed is 1 / time, and times are what one asks for
};

/// The speeds of whole players, and which of them and which single pairs are slow.
struct JudgedPairs {
  double median = 0;            ///< of out and in of all players
  std::vector<double> out, in;  ///< by player: the middle of its row and of its column
  /// "n2: 0.30 of the median, out and in", "n1 to n3: 0.41 of the median"; the slowest first.
  std::vector<std::string> findings;
};

/// Of an even number of speeds in a row the middle is the upper one, so that a slow player among
/// three does not slow the others' rows. A player is slow where its middle, and a pair is slow where
/// its speed compared with what its row and column let expect, is below kSlow (for latencies
/// kSlowLatency) of the usual and also five standard deviations of the spread away, which is
/// estimated from medians of deviations. Of two players only the two directions are compared.
JudgedPairs judge(const PairSpeeds& pairs);

inline constexpr double kSlow = 0.8, kSlowLatency = 0.5;
inline constexpr int kMostSlowPairs = 8;  ///< that are named

}  // namespace microbench
