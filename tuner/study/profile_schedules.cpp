#include "tuner/study/profile_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "db/records.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner {
namespace {

constexpr int kSmallestChunks = 4;  ///< the cut that shows small sizes
constexpr int kOverlappedChunks = 2;

}  // namespace

std::vector<ProfileSchedule> profile_schedules(const moe::Program& program) {
  const auto overlapped = [&](int chunks) {
    return pipeline_schedule(program, "profile", {chunks, chunks}, InNode::beside);
  };
  moe::Schedule cut = overlapped(kSmallestChunks);
  std::erase_if(cut.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::StreamAssignment>(decision);
  });
  return {
      {db::kSequential, {"profile", {}}},
      {fmt::format("{} chunks on one stream", kSmallestChunks), std::move(cut)},
      {fmt::format("{} chunks overlapped", kOverlappedChunks), overlapped(kOverlappedChunks)},
      {fmt::format("{} chunks overlapped", kSmallestChunks), overlapped(kSmallestChunks)},
  };
}

std::vector<ProfileSchedule> copy_profile_schedules(const moe::Program& program) {
  const auto offloading = [&](int chunks) {
    moe::Schedule schedule =
        pipeline_schedule(program, "profile", {chunks, chunks}, InNode::beside);
    for (const int layer : moe_layers(program)) {
      schedule.decisions.push_back(moe::RestoreActivation{layer, moe::RestoreDispatched::offload,
                                                          moe::RestoreHidden::offload});
    }
    return schedule;
  };
  moe::Schedule alone = offloading(kSmallestChunks);
  std::erase_if(alone.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::StreamAssignment>(decision);
  });
  for (const char* kind : {"offload_rows", "fetch_rows"}) {
    alone.decisions.push_back(moe::StreamAssignment{kind, moe::Stream::compute});
  }
  std::vector<ProfileSchedule> schedules{
      {fmt::format("{} chunks offloaded on one stream", kSmallestChunks), std::move(alone)},
      {fmt::format("{} chunks offloaded and overlapped", kOverlappedChunks),
       offloading(kOverlappedChunks)}};
  std::erase_if(schedules,
                [&](const ProfileSchedule& one) { return !moe::is_legal(program, one.schedule); });
  return schedules;
}

std::vector<ProfileSchedule> schedules_to_profile(const moe::Program& program,
                                                  const std::vector<Given>& given,
                                                  const std::vector<PlannerRequest>& planners) {
  std::vector<ProfileSchedule> schedules = profile_schedules(program);
  for (const Given& each : given) {
    schedules.push_back({"given " + each.name, {"profile", each.schedule.decisions}});
  }
  if (std::ranges::any_of(planners,
                          [](const PlannerRequest& asked) { return asked.planner->offloads; })) {
    std::ranges::move(copy_profile_schedules(program), std::back_inserter(schedules));
  }
  return schedules;
}

}  // namespace tuner
