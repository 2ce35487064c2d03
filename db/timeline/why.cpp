#include "db/timeline/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "db/console/format_rows.h"
#include "db/timeline/cause.h"
#include "db/timeline/op_label.h"

namespace db {
namespace {

constexpr double kTrifle = 0.005;  // of the iteration: not worth a sentence

std::string time_text(double seconds) { return format_cell("_s", seconds); }
std::string share_text(double share) { return format_cell("_share", share); }

std::string waited_text(const ExposedOp& op) {
  if (!op.waiting_s || *op.waiting_s < kTrifle * op.exposed_s) return "";
  std::string text =
      fmt::format(" {} of that passed before the last rank had come", time_text(*op.waiting_s));
  if (op.late) {
    text += fmt::format(": mostly rank {}", op.late->rank);
    if (!op.late->ran.empty()) text += fmt::format(", which ran {} meanwhile", op.late->ran);
  }
  return text + ".";
}

// "Of that ...", where the timeline tells.
std::string exposed_parts(const Summary& summary) {
  if (!summary.knows_waiting) return "";
  const RankStatistics& mean = summary.mean;
  const std::string bubble = mean.exposed_bubble_s > 0
                                 ? fmt::format(", and {} of waiting for another pipeline stage",
                                               time_text(mean.exposed_bubble_s))
                                 : std::string();
  return fmt::format("Of that {} was transfer, {} waiting for late ranks{}. ",
                     time_text(mean.exposed_transfer_s()), time_text(mean.exposed_waiting_s),
                     bubble);
}

std::string path_text(const std::vector<PathPart>& path) {
  double all_s = 0;
  std::size_t steps = 0;
  for (const PathPart& part : path) {
    all_s += part.seconds;
    if (!part.sample.kind.empty()) steps += part.steps;
  }
  std::string parts;
  for (const PathPart& part : path) {
    if (part.seconds < kTrifle * all_s) break;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", share_text(part.seconds / all_s),
                         part_name(part));
  }
  return fmt::format("Its critical path has {} steps, which make up {}: {}.", steps,
                     time_text(all_s), parts);
}

}  // namespace

Why why(const Timeline& timeline, bool all_together) {
  const SpanIndex index = index_spans(timeline);
  Why why{summarize(timeline, timeline.extent), {}, exposed_ops(timeline, index, all_together), {}};
  if (knows_causes(timeline)) {
    why.path = path_parts(timeline, critical_path(timeline, index));
  }
  if (all_together || !timeline.first_rank.empty()) {
    why.late = lateness(timeline, index, timeline.extent);
  }
  return why;
}

std::vector<std::string> exposure_text(const Timeline& timeline, const std::string& of,
                                       const Why& why) {
  const RankStatistics& mean = why.summary.mean;
  const double length_s = why.summary.range.length_s();
  if (!(length_s > 0)) return {};
  std::vector<std::string> paragraphs = {fmt::format(
      "In the {} iteration of {} that took {}, a rank computed for {} ({}) and communicated for "
      "{}, {} of it while it computed nothing: that is exposed. {}For {} ({}) nothing ran.",
      timeline.info.kind, of, time_text(length_s), time_text(mean.computation_s),
      share_text(mean.computation_s / length_s), time_text(mean.communication_s),
      time_text(mean.exposed_s), exposed_parts(why.summary), time_text(mean.idle_s),
      share_text(mean.idle_s / length_s))};
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(kMost, why.exposed.size()); ++i) {
    const ExposedOp& op = why.exposed[i];
    if (op.exposed_s < kTrifle * length_s) break;
    std::string text = fmt::format("{}: {} of its {} exposed.", op_and_place(op.sample),
                                   time_text(op.exposed_s), time_text(op.duration_s));
    text += waited_text(op);
    if (!op.next.empty()) text += fmt::format(" What is computed after it is {}.", op.next);
    paragraphs.push_back(text);
  }
  return paragraphs;
}

std::vector<std::string> path_and_late_text(const Why& why) {
  std::vector<std::string> paragraphs;
  if (!why.path.empty()) paragraphs.push_back(path_text(why.path));
  if (!why.late.empty() && why.late.front().caused_s > 0) {
    const Lateness& late = why.late.front();
    paragraphs.push_back(fmt::format(
        "Rank {} was waited for most: others waited {} for it, all together, in the {} of its {} "
        "communications that it began last.",
        late.rank, time_text(late.caused_s), late.times_last, late.communications));
  }
  return paragraphs;
}

std::string difference_text(const Differences& found) {
  if (found.total_s == 0) return "Both took as long.";
  std::string parts;
  for (const PartDifference& part : found.parts) {
    const double seconds = part.difference_s();
    if (std::abs(seconds) < 10 * kTrifle * std::abs(found.total_s)) break;
    parts += fmt::format("{}{}{} {}", parts.empty() ? "" : "; ", seconds > 0 ? "+" : "",
                         time_text(seconds), part.name);
  }
  const std::string pace = pace_text(found);
  return fmt::format("The second took {} {} than the first: {}.{}",
                     time_text(std::abs(found.total_s)), found.total_s > 0 ? "longer" : "less",
                     parts, pace.empty() ? "" : " " + pace);
}

}  // namespace db
