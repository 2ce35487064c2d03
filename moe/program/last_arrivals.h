#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"

namespace moe {

/// By kind of group in which ops of a Program communicate, [rank]: the lowest rank of its group.
using FirstRanks = std::map<GroupKind, std::vector<int>>;
FirstRanks first_ranks(const Program& program, const Groups& groups);

/// The same by place in `ranks` of a timeline, where ranks share places: each is in the groups of
/// the ranks that it stands for, named by their lowest place.
FirstRanks first_places(const FirstRanks& first, const Timeline& timeline);

/// When the last rank of each group began a communication. Keeps references to its arguments.
class LastArrivals {
 public:
  /// `first` is by place in `ranks`.
  LastArrivals(const Program& program, const Timeline& timeline, const FirstRanks& first);

  /// How long a span waited for the last rank of its group to begin; none where it does not
  /// communicate. `place`: of its rank in `ranks`.
  std::optional<double> waiting_s(const OpSpan& span, int place) const;

 private:
  const Program& program_;
  const FirstRanks& first_;
  std::map<std::pair<int, int>, double> last_s_;  ///< by op and the group's lowest place
};

}  // namespace moe
