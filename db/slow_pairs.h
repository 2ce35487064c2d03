#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace db {

inline constexpr double kSlow = 0.8, kSlowLatency = 0.5;
inline constexpr std::int64_t kLatencyBytes = 4096;  ///< shorter messages are judged by latency
inline constexpr int kMostSlowPairs = 8;             ///< that are named

/// How fast messages go from each player (a node or a rank) to each other.
struct PairSpeeds {
  std::vector<std::string> names;          ///< of the players
  std::vector<std::vector<double>> speed;  ///< [from][to], any unit; the diagonal is not read
  double relative_error = 0;               ///< of a speed, as its own samples tell
  bool latency = false;                    ///< a speed is 1 / time, and times are what one asks for
  double slow = kSlow;  ///< what is slow has less than this of the usual speed; not of latencies
};

/// The speeds of whole players, and which of them and which single pairs are slow.
struct JudgedPairs {
  double median = 0;            ///< of out and in of all players
  std::vector<double> out, in;  ///< by player: the middle of its row and of its column; 0: none
  /// "n2: 0.30 of the median, out and in"; the slowest first.
  std::vector<std::string> slow_players;
  /// "n1 to n3: 0.41 of the median"; the slowest first.
  std::vector<std::string> slow_pairs;

  /// Both.
  std::vector<std::string> findings() const;
};

/// Of an even number of speeds in a row the middle is the upper one, so that a slow player among
/// three does not slow the others' rows. A player is slow where its middle, and a pair is slow where
/// its speed compared with what its row and column let expect, is below PairSpeeds::slow (for
/// latencies kSlowLatency) of the usual and also five standard deviations of the spread away, which
/// is estimated from medians of deviations. Of two players only the two directions are compared.
/// Pairs without a speed (0) are left out. Throws std::invalid_argument for fewer than 2 players.
JudgedPairs judge_pairs(const PairSpeeds& pairs);

}  // namespace db
