#include "db/timeline/activity.h"

namespace db {

Activity activity_of(const TimelineOp& op) {
  if (op.activity == "computation") return Activity::computation;
  if (op.activity == "communication") return Activity::communication;
  if (op.activity == "copy") return Activity::copy;
  if (op.activity == "host") return Activity::host;
  return Activity::unknown;
}

CountedAs counted_as(const TimelineOp& op) {
  return {activity_of(op), is_between_stages(op.group_kind)};
}

bool is_between_stages(std::string_view group_kind) {
  return group_kind == "even_boundary" || group_kind == "odd_boundary" || group_kind == "ends";
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

}  // namespace db
