#include "moe/model/layout_way_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace moe {
namespace {

/// Smaller numbers of ranks to try: the nearest first, then half as many, a quarter, ...
std::vector<int> fewer_ranks(int ranks) {
  constexpr int kNeighbours = 64;
  std::vector<int> numbers;
  for (int number = ranks - 1; number > 0 && number >= ranks - kNeighbours; --number) {
    numbers.push_back(number);
  }
  for (int number = ranks / 2; number > 0; number /= 2) {
    if (number < ranks - kNeighbours) numbers.push_back(number);
  }
  return numbers;
}

/// Larger numbers of ranks to try: the next ones, then twice as many, four times, ...
std::vector<int> more_ranks(int ranks) {
  constexpr int kNeighbours = 64, kMost = 1 << 14;
  std::vector<int> numbers;
  for (int number = ranks + 1; number <= ranks + kNeighbours; ++number) numbers.push_back(number);
  for (int number = 2 * ranks; number <= kMost; number *= 2) {
    if (number > ranks + kNeighbours) numbers.push_back(number);
  }
  return numbers;
}

/// Of at most `stages` pipeline stages.
std::optional<Layout> nearest_fitting(const Model& model, const Layout& wanted, int ranks,
                                      int stages) {
  for (const Layout& layout : nearest_layouts(wanted, ranks)) {
    if (layout.pipeline <= stages && !layout_refusal(model, layout)) return layout;
  }
  return std::nullopt;
}

/// "--ranks 2 --layout ep=2", for the first of `numbers` that fits.
std::optional<std::string> first_fitting(const Model& model, const Layout& wanted,
                                         const std::vector<int>& numbers) {
  for (const int ranks : numbers) {
    if (const auto layout = nearest_fitting(model, wanted, ranks, wanted.pipeline)) {
      return fmt::format("--ranks {} --layout {}", ranks, short_text(*layout));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string layout_way_out(const Model& model, const Layout& layout, const LayoutRefusal& refusal) {
  constexpr int kMostOfAKey = 2;
  const int ranks = rank_count(layout);
  std::vector<std::string> ways;
  auto other = nearest_fitting(model, layout, ranks, layout.pipeline);
  if (!other) other = nearest_fitting(model, layout, ranks, model.blocks);
  if (other) ways.push_back("--layout " + short_text(*other));
  auto with_others = first_fitting(model, layout, fewer_ranks(ranks));
  std::map<std::string_view, int> named;
  for (const ModelChange& change : refusal.changes) {
    if (named[change.key] == kMostOfAKey) continue;
    Model changed = model;
    change.make(changed);
    if (layout_refusal(changed, layout)) continue;
    ways.push_back(change.text);
    ++named[change.key];
  }
  if (ways.empty() && !with_others) with_others = first_fitting(model, layout, more_ranks(ranks));
  if (with_others) ways.push_back(*with_others);
  return fmt::format("{}", fmt::join(ways, " or "));
}

}  // namespace moe
