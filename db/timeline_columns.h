#pragma once

#include <tuple>

#include "db/column.h"
#include "db/records.h"

/// The tables of timelines.sql.
namespace db {

template <>
struct Table<TimelineInfo> {
  static constexpr const char* name = "timeline";
  static constexpr std::tuple columns{Column{"id", &TimelineInfo::id},
                                      Column{"run_id", &TimelineInfo::run_id},
                                      Column{"trial_id", &TimelineInfo::trial_id},
                                      Column{"kind", &TimelineInfo::kind},
                                      Column{"label", &TimelineInfo::label},
                                      Column{"iteration", &TimelineInfo::iteration},
                                      Column{"duration_s", &TimelineInfo::duration_s}};
};

template <>
struct Table<TimelineOp> {
  static constexpr const char* name = "timeline_op";
  static constexpr std::tuple columns{Column{"timeline_id", &TimelineOp::timeline_id},
                                      Column{"op", &TimelineOp::op},
                                      Column{"name", &TimelineOp::name},
                                      Column{"kind", &TimelineOp::kind},
                                      Column{"activity", &TimelineOp::activity},
                                      Column{"stream", &TimelineOp::stream},
                                      Column{"phase", &TimelineOp::phase},
                                      Column{"layer", &TimelineOp::layer},
                                      Column{"chunk", &TimelineOp::chunk},
                                      Column{"chunks", &TimelineOp::chunks},
                                      Column{"group_kind", &TimelineOp::group_kind}};
};

template <>
struct Table<OpEdge> {
  static constexpr const char* name = "op_edge";
  static constexpr std::tuple columns{Column{"timeline_id", &OpEdge::timeline_id},
                                      Column{"op", &OpEdge::op}, Column{"before", &OpEdge::before}};
};

template <>
struct Table<RankGroup> {
  static constexpr const char* name = "rank_group";
  static constexpr std::tuple columns{
      Column{"timeline_id", &RankGroup::timeline_id}, Column{"kind", &RankGroup::kind},
      Column{"rank", &RankGroup::rank}, Column{"first_rank", &RankGroup::first_rank}};
};

template <>
struct Table<TimelineTensor> {
  static constexpr const char* name = "timeline_tensor";
  static constexpr std::tuple columns{
      Column{"timeline_id", &TimelineTensor::timeline_id},
      Column{"tensor", &TimelineTensor::tensor}, Column{"name", &TimelineTensor::name},
      Column{"role", &TimelineTensor::role}, Column{"pool", &TimelineTensor::pool}};
};

template <>
struct Table<Allocation> {
  static constexpr const char* name = "allocation";
  static constexpr std::tuple columns{Column{"timeline_id", &Allocation::timeline_id},
                                      Column{"rank", &Allocation::rank},
                                      Column{"tensor", &Allocation::tensor},
                                      Column{"offset_bytes", &Allocation::offset_bytes},
                                      Column{"bytes", &Allocation::bytes},
                                      Column{"first_op", &Allocation::first_op},
                                      Column{"last_op", &Allocation::last_op},
                                      Column{"begin_s", &Allocation::begin_s},
                                      Column{"end_s", &Allocation::end_s}};
};

template <>
struct Table<Span> {
  static constexpr const char* name = "span";
  static constexpr std::tuple columns{Column{"timeline_id", &Span::timeline_id},
                                      Column{"rank", &Span::rank},
                                      Column{"op", &Span::op},
                                      Column{"start_s", &Span::start_s},
                                      Column{"duration_s", &Span::duration_s},
                                      Column{"bytes", &Span::bytes},
                                      Column{"flops", &Span::flops},
                                      Column{"waiting_s", &Span::waiting_s}};
};

template <>
struct Table<RankActivity> {
  static constexpr const char* name = "rank_activity";
  static constexpr std::tuple columns{Column{"timeline_id", &RankActivity::timeline_id},
                                      Column{"rank", &RankActivity::rank},
                                      Column{"computation_s", &RankActivity::computation_s},
                                      Column{"communication_s", &RankActivity::communication_s},
                                      Column{"copy_s", &RankActivity::copy_s},
                                      Column{"exposed_s", &RankActivity::exposed_s},
                                      Column{"exposed_waiting_s", &RankActivity::exposed_waiting_s},
                                      Column{"exposed_bubble_s", &RankActivity::exposed_bubble_s}};
};

template <>
struct Table<OpActivity> {
  static constexpr const char* name = "op_activity";
  static constexpr std::tuple columns{Column{"timeline_id", &OpActivity::timeline_id},
                                      Column{"rank", &OpActivity::rank},
                                      Column{"layer", &OpActivity::layer},
                                      Column{"phase", &OpActivity::phase},
                                      Column{"kind", &OpActivity::kind},
                                      Column{"activity", &OpActivity::activity},
                                      Column{"spans", &OpActivity::spans},
                                      Column{"busy_s", &OpActivity::busy_s},
                                      Column{"bytes", &OpActivity::bytes},
                                      Column{"flops", &OpActivity::flops},
                                      Column{"waiting_s", &OpActivity::waiting_s},
                                      Column{"exposed_s", &OpActivity::exposed_s},
                                      Column{"exposed_waiting_s", &OpActivity::exposed_waiting_s},
                                      Column{"exposed_bubble_s", &OpActivity::exposed_bubble_s}};
};

}  // namespace db
