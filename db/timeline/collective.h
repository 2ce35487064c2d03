#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/timeline/span_index.h"

/// Communications over ranks: who takes part, who came last, who waited for how long.
namespace db {

/// One communication of one group of ranks.
struct Collective {
  std::vector<SpanPosition> parts;  ///< one of each rank, by rank
  std::size_t last = 0;             ///< the part that began last; of equals the first
};

/// The communications of an op: one for each group of ranks, in the order of the groups and of
/// time. Ranks whose groups are not known are taken together. Empty for ops of other activities.
std::vector<Collective> collectives_of(const Timeline& timeline, const SpanIndex& index,
                                       std::int32_t op);

/// The communication that a span is part of; none for spans of other activities.
std::optional<Collective> collective_at(const Timeline& timeline, const SpanIndex& index,
                                        SpanPosition at);

/// Whether there are several parts, one on each rank of the group, and all run at one moment. All
/// ranks are one group where groups are not known.
bool meet(const Timeline& timeline, const Collective& collective);

/// The part of a span in which it waited for the last rank to begin. It has no length for the last.
/// The rest is transfer.
TimeInterval waiting_of(const Timeline& timeline, const Collective& collective, SpanPosition at);

/// The span that kept a rank from beginning a communication earlier: of those on the rank that
/// ended before `at` began, the one that ended last, a computation where there are several. None
/// where nothing ran before.
std::optional<SpanPosition> kept_by(const Timeline& timeline, SpanPosition at);

/// How late a rank came to the communications of a range of time.
struct Lateness {
  int rank = 0;
  int communications = 0;
  int times_last = 0;      ///< how often it began last, and others waited
  double waiting_s = 0;    ///< its own waiting for others
  double transfer_s = 0;   ///< the rest of its communications
  double caused_s = 0;     ///< the waiting of all others where it was last
  double mean_late_s = 0;  ///< the mean time between the first rank's begin and its own
};

/// By rank, the one that caused most waiting first. Communications that begin in `range` count.
std::vector<Lateness> lateness(const Timeline& timeline, const SpanIndex& index,
                               TimeInterval range);

}  // namespace db
