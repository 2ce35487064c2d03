#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"

namespace db {

/// A candidate (planner and parameters) in two studies.
struct ComparedTrial {
  std::string planner, parameters;
  /// Of the repeats' times: their geometric mean; none where the study did not measure it.
  std::optional<double> first_s, second_s;
  int first_repeats = 0, second_repeats = 0;
  /// How many times as long it took in the second study; and the interval of 95%, none where one of
  /// the two has a single repeat.
  std::optional<double> ratio, least_ratio, most_ratio;
  std::string verdict;  ///< "slower", "faster", "not told apart", "one repeat", "only in A", ...
};

/// Ratio, interval and verdict of repeats that were measured at different times: the difference of
/// the means of their logarithms, by Welch's test [Welch, Biometrika 34, 1947]. Times in seconds,
/// above 0.
ComparedTrial compare_repeats(const std::vector<double>& first, const std::vector<double>& second);

/// In what two studies differ beside their trials: "experts of A: 8, of B: 64". Machine class,
/// network between nodes, model, ranks, layout, and the settings that `moe-tune study --resume` asks
/// for again. What is not known of one differs from nothing. Empty where they can be compared. Throws
/// Error (not_found).
std::vector<std::string> differences_between(const Connection&, const std::string& first,
                                             const std::string& second);

/// All candidates that one of them measured, in the order of the first. Throws Error (not_found).
std::vector<ComparedTrial> compare_studies(const Connection&, const std::string& first,
                                           const std::string& second);

}  // namespace db
