#include "moe/input/similar.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace moe {
namespace {

constexpr std::size_t kLongestName = 64;  ///< of longer ones nobody mistypes a letter

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool looks_like(std::string_view a, std::string_view b) {
  const std::size_t longest = std::max(a.size(), b.size());
  return a.starts_with(b) || b.starts_with(a) ||
         (longest < kLongestName && edit_distance(a, b) <= std::max<std::size_t>(2, longest / 3));
}

std::optional<std::string_view> most_similar(std::string_view name,
                                             const std::vector<std::string_view>& known) {
  if (name.size() >= kLongestName || known.empty()) return std::nullopt;
  const std::string_view like = *std::ranges::min_element(
      known, {}, [&](std::string_view one) { return edit_distance(one, name); });
  return looks_like(like, name) ? std::optional(like) : std::nullopt;
}

}  // namespace moe
