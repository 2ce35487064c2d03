#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace moe {

/// Rows of counts that all have `columns`, one after the other: of thousands of ranks each would
/// else have memory of its own.
struct CountTable {
  std::size_t columns = 1;
  std::vector<std::int64_t> counts;

  std::size_t size() const { return counts.size() / columns; }
  std::span<const std::int64_t> operator[](std::size_t row) const {
    return std::span(counts).subspan(row * columns, columns);
  }
};

}  // namespace moe
