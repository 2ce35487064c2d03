#include "moe/communicator/subgroup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace moe {

int place_in_subgroup(std::span<const int> ranks, int rank, int size) {
  const auto self = std::find(ranks.begin(), ranks.end(), rank);
  if (self == ranks.end() || !std::is_sorted(ranks.begin(), ranks.end()) || ranks[0] < 0 ||
      ranks.back() >= size || std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    throw std::invalid_argument(fmt::format("split: ranks [{}] do not ascend or hold no rank {}",
                                            fmt::join(ranks, ", "), rank));
  }
  return static_cast<int>(self - ranks.begin());
}

}  // namespace moe
