#pragma once

#include "db/timeline/cause.h"
#include "db/timeline/collective.h"
#include "db/timeline/critical_path.h"
#include "db/timeline/difference.h"
#include "db/timeline/exposure.h"
#include "db/timeline/memory_table.h"
#include "db/timeline/op_label.h"
#include "db/timeline/op_table.h"
#include "db/timeline/summary.h"
#include "db/timeline/timeline.h"
#include "viewer/model/time_range.h"

/// The timelines of db/timeline and what is asked of them, by their short names.
namespace viewer {

using db::Activity;
using db::Cause;
using db::Collective;
using db::Differences;
using db::ExposedOp;
using db::Hold;
using db::Lane;
using db::LaneSpan;
using db::Lateness;
using db::MemoryItem;
using db::MemoryStep;
using db::MemoryTable;
using db::OpDifference;
using db::OpGrouping;
using db::OpRow;
using db::PartDifference;
using db::PathPart;
using db::PathStep;
using db::PoolUse;
using db::RankMemory;
using db::Reason;
using db::SpanIndex;
using db::SpanIndexBuilder;
using db::SpanPosition;
using db::Summary;
using db::TimeLedger;
using db::Timeline;

using db::base_kind;
using db::histogram;
using db::kBlockSpans;
using db::kTouching_s;

}  // namespace viewer
