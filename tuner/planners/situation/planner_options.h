#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tuner {

/// An option that a planner declares. A person writes it after the planner's name, as in
/// "pmoe:degree=4:most_chunks=8".
struct PlannerOption {
  std::string_view key;
  double least = 1, most = 1;
  std::string_view meaning;  ///< for a person, with the default value in brackets
  bool whole = true;         ///< only whole numbers are accepted
};

/// The options of a planner.
struct PlannerOptions {
  std::map<std::string_view, double> asked{};  ///< by key of the declared option
  int most_chunks = 8;                         ///< for planners that search
  /// The iterations for which the plan will be in force. Moving experts to other homes is paid
  /// once, so planners weigh its cost against these. 0 = unknown: they count it as free.
  int iterations = 0;
};

/// The value that was asked for, if any.
std::optional<double> asked_for(const PlannerOptions& options, const PlannerOption& option);
/// The value that was asked for, else `usual`.
double value_of(const PlannerOptions& options, const PlannerOption& option, double usual);
int whole_value_of(const PlannerOptions& options, const PlannerOption& option, int usual);

// --- options that several planners take ---------------------------------------------------------

inline constexpr PlannerOption kDegree{"degree", 1, 64,
                                       "chunks of every MoE layer, forward and backward"};
inline constexpr PlannerOption kMostChunks{"most_chunks", 1, 64,
                                           "most chunks that are tried [--most-chunks]"};

/// kMostChunks where it was asked for, else PlannerOptions::most_chunks.
int most_chunks(const PlannerOptions& options);

// --- parameters ---------------------------------------------------------------------------------

/// One JSON object of the keys of two: {"a": 1} and {"b": 2} give {"a": 1, "b": 2}. Both are
/// objects on one line, without a key in common.
std::string join_parameters(const std::string& first_json, const std::string& second_json);

/// The options that were asked for as a JSON object: {"most_chunks": 4}; "{}" for none.
std::string to_json(const PlannerOptions& options);

}  // namespace tuner
