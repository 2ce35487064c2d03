#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// The first op that prevents `moved` (positions in the Program, ascending) from moving to right
/// after `target`: the order of that op and one of `moved` would change although one of the two
/// uses what the other makes. None where they may move.
std::optional<std::size_t> refusing_op(const Program& program,
                                       const std::vector<std::size_t>& moved, std::size_t target);

/// The positions in the Program right after which `moved` may stand: from `first` up to, not
/// including, `end`.
struct PlacesAfter {
  std::size_t first, end;
};
PlacesAfter allowed_places(const Program& program, const std::vector<std::size_t>& moved);

/// Moves the items at `moved` (ascending) to right after the one at `target`, in the order they had.
/// Items outside of [changed.begin, changed.end), which is returned, stay where they are.
struct Changed {
  std::size_t begin, end;
};
template <class Item>
Changed move_behind(std::vector<Item>& items, const std::vector<std::size_t>& moved,
                    std::size_t target) {
  const Changed changed{std::min(moved.front(), target + 1),
                        std::max(moved.back() + 1, target + 1)};
  std::vector<Item> result;
  const auto move_here = [&] {
    for (const std::size_t one : moved) result.push_back(std::move(items[one]));
  };
  if (changed.begin == target + 1) move_here();
  for (std::size_t i = changed.begin; i < changed.end; ++i) {
    if (!std::ranges::binary_search(moved, i)) result.push_back(std::move(items[i]));
    if (i == target) move_here();
  }
  std::ranges::move(result, items.begin() + static_cast<std::ptrdiff_t>(changed.begin));
  return changed;
}

/// The same ops with `moved` right after `target`, in the order they had.
Program moved_behind(Program program, const std::vector<std::size_t>& moved, std::size_t target);

}  // namespace moe
