#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/timeline/collective.h"

/// Why a span began when it did.
namespace db {

enum class Reason {
  stream,      ///< the span before it on its stream ended
  data,        ///< an op that it waits for ended
  rendezvous,  ///< the last rank of its communication began
};

std::string_view reason_name(Reason reason);

/// Something that had to happen on a rank before a span could begin, or before its transfer could.
struct Cause {
  SpanPosition at;
  Reason reason = Reason::stream;
  double at_s = 0;  ///< when it happened: the end of `at`, or the begin of the last rank's part
};

/// The causes of a span, the last to happen first: the span before it on its stream, the ops that
/// it waits for and, for a communication whose last rank is another, that rank's part of it.
std::vector<Cause> causes_of(const Timeline& timeline, const SpanIndex& index, SpanPosition at);

/// Of a communication whose rank waited, the part of the rank that began last; any other span
/// itself.
SpanPosition begun_last(const Timeline& timeline, const SpanIndex& index, SpanPosition at);

/// The cause of the begin of a span that ended last; a rendezvous delays the transfer only.
std::optional<SpanPosition> released_by(const Timeline& timeline, const SpanIndex& index,
                                        SpanPosition at);

/// What a rank did while others waited for it.
struct Hold {
  SpanPosition at;
  double seconds = 0;  ///< its part of the time that they waited
};

/// What kept a rank from beginning the communication `at`, which others wait for since `from_s`:
/// of the spans that led to it, back from it by the cause that ended last, the one that took most
/// of that time. Where the causes are not known, they are the spans of the rank that ended last.
/// None where nothing ran before.
std::optional<Hold> held_up_by(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                               double from_s);

/// "waited 4.1 ms for rank 1, which ran experts down 4/4", and "for 2.2 ms of it" where other spans
/// ran, too. "last to begin: rank 0 waited 4.1 ms longest" for the last rank; empty where only one
/// rank takes part.
std::string waiting_text(const Timeline& timeline, const SpanIndex& index, SpanPosition at);

/// True where the timeline says which ops wait for which. Without that, causes_of knows streams and
/// rendezvous only, and there is no critical path.
bool knows_causes(const Timeline& timeline);

}  // namespace db
