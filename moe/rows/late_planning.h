#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/late_copies.h"

/// What the rules of late_copies.h share: experts at home, and a plan in the making.
namespace moe {

/// Rows of an expert that another member than its home computes.
struct LateTransfer {
  int expert = 0, to = 0;
  std::int64_t rows = 0;
};

/// The rows of experts at their homes, which no plan changes.
struct RowsAtHome {
  std::span<const std::int64_t> rows;  ///< [expert], from all sources
  std::span<const int> homes;          ///< [expert]
  std::vector<int> experts;            ///< by member at home, most rows first
  std::vector<std::size_t> first;      ///< [member + 1]: its first one among them

  /// What the arguments refer to must outlive it.
  RowsAtHome(std::span<const std::int64_t> of, std::span<const int> at_home, int members);

  int members() const { return static_cast<int>(first.size()) - 1; }
  /// The experts at home there, most rows first.
  std::span<const int> at(int member) const {
    return std::span(experts).subspan(first[member], first[member + 1] - first[member]);
  }
};

/// Experts are given away one after the other. Begins with all rows at home.
struct LatePlanning {
  const RowsAtHome* home;
  std::vector<LateTransfer> transfers;
  std::vector<std::int64_t> load;  ///< [member]: rows that it computes
  std::vector<int> free_slots;     ///< [member]
  std::vector<int> last;           ///< [member]: the expert that it was given last

  /// `of` must outlive it.
  LatePlanning(const RowsAtHome& of, int slots);

  bool may_take(int expert, int member) const;
  void give(int expert, int member, std::int64_t rows);
  std::int64_t total() const;
  std::int64_t most() const;
};

/// Members by their key, ascending or descending; of equal ones the first comes first.
std::vector<int> members_by(std::span<const std::int64_t> key, bool descending);

/// The rules of LateRule. Each returns the plan with the transfers that it chose.
LatePlanning plan_ultraep(LatePlanning planning, int slots);
LatePlanning plan_moonep(LatePlanning planning);
LatePlanning plan_llep(LatePlanning planning, const LateCopies& copies);

}  // namespace moe
