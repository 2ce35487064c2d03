#include "viewer/model/activity.h"

#include "db/timeline_statistics.h"

namespace viewer {

Activity activity_of(const db::TimelineOp& op) {
  if (op.activity == "computation") return Activity::computation;
  if (op.activity == "communication") return Activity::communication;
  if (op.activity == "copy") return Activity::copy;
  if (op.activity == "host") return Activity::host;
  return Activity::unknown;
}

OpActivity counted_as(const db::TimelineOp& op) {
  return {activity_of(op), db::is_between_stages(op.group_kind)};
}

std::string_view activity_name(Activity activity) {
  switch (activity) {
    case Activity::computation:
      return "computation";
    case Activity::communication:
      return "communication";
    case Activity::copy:
      return "copy";
    case Activity::host:
      return "host";
    case Activity::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace viewer
