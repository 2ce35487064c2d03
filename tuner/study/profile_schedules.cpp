#include "tuner/study/profile_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "db/console/format_rows.h"
#include "db/records.h"
#include "moe/errors.h"
#include "tuner/planners/lancet/layer_cuts.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The cut that shows small sizes: as many chunks as planners may make, within these bounds.
constexpr int kSmallestChunks = 4, kMostSmallestChunks = 16;
constexpr int kOverlappedChunks = 2;
constexpr int kBatchParts = 2;

/// Without assignments to streams.
moe::Schedule on_one_stream(moe::Schedule schedule) {
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::StreamAssignment>(decision);
  });
  return schedule;
}

}  // namespace

std::vector<ProfileSchedule> profile_schedules(const moe::Program& program, int most_chunks) {
  const int smallest = std::clamp(most_chunks, kSmallestChunks, kMostSmallestChunks);
  const auto overlapped = [&](int chunks) {
    return pipeline_schedule(program, "profile", {chunks, chunks}, InNode::beside);
  };
  return {
      {db::kSequential, {"profile", {}}},
      {fmt::format("{} chunks on one stream", smallest), on_one_stream(overlapped(smallest))},
      {fmt::format("{} chunks overlapped", kOverlappedChunks), overlapped(kOverlappedChunks)},
      {fmt::format("{} chunks overlapped", smallest), overlapped(smallest)},
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
  moe::Schedule alone = on_one_stream(offloading(kSmallestChunks));
  for (const char* kind : {"offload_rows", "fetch_rows"}) {
    alone.decisions.push_back(moe::StreamAssignment{kind, moe::Stream::compute});
  }
  std::vector<ProfileSchedule> schedules{
      {fmt::format("{} chunks offloaded on one stream", kSmallestChunks), std::move(alone)},
      {fmt::format("{} chunks offloaded and overlapped", kSmallestChunks),
       offloading(kSmallestChunks)}};
  std::erase_if(schedules,
                [&](const ProfileSchedule& one) { return !moe::is_legal(program, one.schedule); });
  return schedules;
}

std::optional<ProfileSchedule> parts_profile_schedule(const moe::Program& program) {
  ProfileSchedule parts{fmt::format("{} parts of the batch overlapped", kBatchParts),
                        pipeline_schedule(program, "profile", {1, 1})};
  const std::map<int, LayerCuts> layers = layer_cuts(program, kBatchParts);
  std::size_t free_from = 0;  // ops before this one are cut with an earlier layer
  for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
    const OpRange& ops = layer->second.ops;
    const std::optional<OpRange>& far = layer->second.far;
    if (!far) continue;
    // What lies between two layers is cut with the later one where its gate permits that.
    const auto before = ops.first - std::max(far->first, free_from);
    std::size_t end = ops.end;
    if (before == 0) {
      const auto next = std::next(layer);
      end = next == layers.end() ? far->end : std::min(far->end, next->second.ops.first);
    }
    parts.schedule.decisions.push_back(moe::PartitionRange{
        layer->first, kBatchParts, static_cast<int>(before), static_cast<int>(end - ops.end)});
    if (!moe::is_legal(program, parts.schedule)) {
      parts.schedule.decisions.pop_back();
      continue;
    }
    free_from = end;
  }
  const bool is_cut = free_from > 0;
  return is_cut ? std::optional(std::move(parts)) : std::nullopt;
}

std::vector<ProfileSchedule> schedules_to_profile(const moe::Program& program,
                                                  const std::vector<Given>& given,
                                                  const std::vector<PlannerRequest>& planners,
                                                  int most_chunks) {
  std::vector<ProfileSchedule> schedules = profile_schedules(program, most_chunks);
  for (const Given& each : given) {
    schedules.push_back({"given " + each.name, {"profile", each.schedule.decisions}});
  }
  const auto any = [&](bool Planner::*does) {
    return std::ranges::any_of(planners,
                               [&](const PlannerRequest& asked) { return asked.planner->*does; });
  };
  if (any(&Planner::cuts_batch)) {
    if (auto parts = parts_profile_schedule(program)) schedules.push_back(std::move(*parts));
  }
  if (any(&Planner::offloads)) {
    std::ranges::move(copy_profile_schedules(program), std::back_inserter(schedules));
  }
  return schedules;
}

namespace {

/// The same decisions, with the buffers of every MoE layer shared by the strategy.
moe::Schedule with_shared_buffers(const moe::Program& program, moe::Schedule schedule,
                                  const mpmoe::Strategy& strategy) {
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::RestoreActivation>(decision);
  });
  for (const int layer : moe_layers(program)) {
    schedule.decisions.push_back(
        moe::RestoreActivation{layer, strategy.dispatched, strategy.hidden});
  }
  return schedule;
}

moe::Schedule in_twice_as_many_chunks(const moe::Program& program, moe::Schedule schedule) {
  bool is_cut = false;
  for (moe::Decision& decision : schedule.decisions) {
    auto* split = std::get_if<moe::PipelineSplit>(&decision);
    if (!split) continue;
    split->chunks *= 2;
    is_cut = true;
  }
  if (is_cut) return schedule;
  for (const int layer : moe_layers(program)) {
    for (const moe::Phase phase : {moe::Phase::forward, moe::Phase::backward}) {
      schedule.decisions.push_back(moe::PipelineSplit{layer, phase, 2});
    }
  }
  return schedule;
}

}  // namespace

std::vector<ProfileSchedule> leaner(const moe::Program& program, const ProfileSchedule& one) {
  std::vector<ProfileSchedule> result;
  const moe::Schedule more_chunks = in_twice_as_many_chunks(program, one.schedule);
  for (const moe::Schedule* cut : {&one.schedule, &more_chunks}) {
    // S4 and S3 recompute, S2 and S1 copy what S4 and S3 recompute.
    for (auto strategy = mpmoe::kStrategies.rbegin(); strategy != mpmoe::kStrategies.rend();
         ++strategy) {
      moe::Schedule shared = with_shared_buffers(program, *cut, *strategy);
      if (shared.decisions == one.schedule.decisions || !moe::is_legal(program, shared)) continue;
      result.push_back({fmt::format("{}, buffers shared by {}{}", one.what, strategy->name,
                                    cut == &more_chunks ? ", twice the chunks" : ""),
                        std::move(shared)});
    }
  }
  return result;
}

std::vector<ProfileSchedule> those_that_fit(const moe::Program& program, const moe::Groups& groups,
                                            const moe::Routing& routing, std::int64_t limit_bytes,
                                            std::vector<ProfileSchedule> schedules,
                                            const std::function<void(const std::string&)>& say) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto fits = [&](const ProfileSchedule& one) {
    if (limit_bytes <= 0) return true;
    const std::int64_t peak =
        planned_peak_bytes(moe::apply(program, one.schedule), groups, routing);
    least = std::min(least, peak);
    return peak <= limit_bytes;
  };
  std::vector<ProfileSchedule> result;
  for (ProfileSchedule& one : schedules) {
    std::vector<ProfileSchedule> choices = leaner(program, one);
    const std::string what = one.what;
    choices.insert(choices.begin(), std::move(one));
    const auto chosen = std::ranges::find_if(choices, fits);
    if (chosen == choices.end()) {
      say(fmt::format("profile: \"{}\" does not fit the memory limit and is left out", what));
      continue;
    }
    if (chosen != choices.begin()) {
      say(fmt::format("profile: \"{}\" does not fit the memory limit: \"{}\" is trained instead",
                      what, chosen->what));
    }
    ProfileSchedule fitting = std::move(*chosen);
    fitting.instead.assign(std::make_move_iterator(chosen + 1),
                           std::make_move_iterator(choices.end()));
    const bool is_known = std::ranges::any_of(result, [&](const ProfileSchedule& other) {
      return other.schedule.decisions == fitting.schedule.decisions;
    });
    if (!is_known) result.push_back(std::move(fitting));
  }
  if (result.empty()) {
    throw moe::OutOfMemory(
        fmt::format("profile: no schedule fits the memory limit of {}: the leanest needs {}: raise "
                    "--memory-limit, lower global_batch or capacity_factor, or use more ranks",
                    db::format_cell("bytes", limit_bytes), db::format_cell("bytes", least)),
        least);
  }
  return result;
}

}  // namespace tuner
