#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/timeline/span_index.h"

/// What makes one timeline longer than another.
namespace db {

/// The time of a timeline parted among what ran: seconds of a kind of op, or of nothing at all.
struct TimePart {
  std::string name;    ///< "expert_linear", "all_to_all, exposed", "idle"
  TimelineOp sample;   ///< an op of the kind, for the colour; without a kind for idle time
  double seconds = 0;  ///< mean over ranks
};

/// Every moment of a rank belongs to one part: to the computation that runs, or else to the
/// communication, the copy or the work of the host, or else to idle time. So the parts add up to
/// the length of the timeline. Of several ops of one activity at one moment, the one that began
/// first counts.
std::vector<TimePart> time_parts(const Timeline& timeline);

/// A part of both timelines.
struct PartDifference {
  std::string name;
  TimelineOp sample;
  double first_s = 0;
  double second_s = 0;

  double difference_s() const { return second_s - first_s; }
};

/// An op of one layer and phase in both timelines: the sum over its chunks, however each timeline
/// cuts it, and the mean over ranks.
struct OpDifference {
  TimelineOp op;
  double first_s = 0;
  double second_s = 0;
  std::optional<SpanPosition> in_first, in_second;  ///< its first span in each, on the lowest rank

  double difference_s() const { return second_s - first_s; }
};

struct Differences {
  std::vector<PartDifference> parts;  ///< largest size first; they add up to total_s
  std::vector<OpDifference> ops;      ///< largest size first
  double first_s = 0;                 ///< the length of the first
  double total_s = 0;                 ///< what the second has more
  /// How many times as long computation took for each FLOP in the first as in the second. Only
  /// spans with nothing beside them on their rank count, of kinds that both timelines have so; each
  /// kind as often as the second has it. None where no kind is left.
  std::optional<double> compute_ratio;
};

/// Where that is off 1 by more than 10%: "The first computed 1.76 times as slowly for each FLOP: not
/// all of the difference is of the schedules." Else empty.
std::string pace_text(const Differences& found);

/// The second timeline minus the first.
Differences differences(const Timeline& first, const Timeline& second);

}  // namespace db
