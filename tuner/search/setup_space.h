#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/model/model.h"
#include "tuner/search/setup.h"

namespace tuner {

/// The least and the most of each degree of a layout.
struct LayoutRange {
  moe::Layout least;
  moe::Layout most{kAny, kAny, kAny, kAny, kAny};
  std::string_view beyond{};  ///< why others are refused; empty: nobody asked for them

  static constexpr int kAny = std::numeric_limits<int>::max();
};

/// The layouts that are usually tried. Ranks of tp and esp exchange in every layer, so these degrees
/// stay within nodes that have several ranks.
LayoutRange usual_layouts(int ranks_per_node);

/// Reads "usual" (none), "all", or degrees such as "tp=1..8,ep=4": one value or the least and the
/// most, of a degree that is absent any. Throws moe::InputError with the part that is none.
std::optional<LayoutRange> parse_layout_range(std::string_view text);

/// Reads "all" (none), or numbers with commas between them. Throws moe::InputError.
std::optional<std::vector<int>> parse_micro_batches(std::string_view text);

/// How often something was left out, by the reason.
using Reasons = std::map<std::string, int>;

/// A message with N in place of each number, so that one reason has one text.
std::string without_numbers(std::string_view message);

/// All setups that a model takes, and why it refuses the others.
struct SetupSpace {
  std::vector<TrainingSetup> setups;
  int layouts = 0;  ///< that the model takes
  Reasons refused;  ///< layouts, with N in place of each number; those beyond the range too
};

/// Every layout of `ranks` ranks within the range that the model takes (moe::layout_refusal), with
/// each of `micro_batches` (none: each divisor of the global batch) that it takes. Where ranks
/// share dense matrices and the model refuses its own batch_per, it is asked with the other one,
/// which costs as much.
SetupSpace setups_of(const moe::Model& model, int ranks, const LayoutRange& range,
                     const std::optional<std::vector<int>>& micro_batches);

}  // namespace tuner
