#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// A study of a model in one of several layouts that took turns (studies_in_turns.h).
struct StudyOfLayout {
  std::string layout;  ///< as a person reads it
  std::int64_t study_id = 0;
};

/// A trial of one of them. Where it has ended its measured_s is what the comparison of all says.
struct LayoutTrial {
  std::string layout;
  db::Trial trial;
  std::optional<int> place;            ///< by measured time, from 1
  std::optional<int> predicted_place;  ///< of the same trials, by first prediction
  std::optional<double> speedup;       ///< over the sequential trial of the first layout
  std::string tied_with;
};

/// The trials of all layouts, the fastest first, then those that were not measured by prediction.
struct ComparedLayouts {
  std::vector<LayoutTrial> trials;
  /// Which is fastest and how good predictions were, as of a study; how far the predicted best is
  /// from the measured best; how many of the pairs of layouts that repeats tell apart, each by its
  /// fastest trial, are in the predicted order; how many trials have their memory predicted to the byte; and in
  /// which layouts costs were profiled.
  std::vector<std::string> lines;
};
ComparedLayouts compared_layouts(const db::Connection& connection,
                                 std::span<const StudyOfLayout> studies);

}  // namespace tuner
