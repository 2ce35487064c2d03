#include "viewer/model/summary.h"

#include <fmt/format.h>

#include "viewer/model/format.h"
#include "viewer/model/time_ledger.h"

namespace viewer {

namespace {

constexpr double kLeastShownShare = 0.0005;  // else it reads 0.0%

}  // namespace

Summary summarize(const Timeline& timeline, TimeRange range) {
  Summary summary{range, {}, {}, !timeline.first_rank.empty()};
  for (const TimeLedger& ledger : timeline.ledgers) {
    summary.ranks.push_back(statistics(timeline, ledger, range));
  }
  summary.mean = db::mean(summary.ranks);
  return summary;
}

std::optional<double> covered_share(const db::RankStatistics& rank) {
  if (!(rank.communication_s > 0)) return std::nullopt;
  return rank.covered_s() / rank.communication_s;
}

std::string exposed_text(const Summary& summary, const db::RankStatistics& rank) {
  const double length_s = summary.range.length_s();
  if (!(length_s > 0)) return "exposed -";
  const std::string all = "exposed " + percent_text(rank.exposed_s / length_s);
  std::string parts;
  const auto add = [&](double seconds, const char* name) {
    const double share = seconds / length_s;
    if (share < kLeastShownShare) return;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", percent_text(share), name);
  };
  if (summary.knows_waiting) {
    add(rank.exposed_transfer_s(), "transfer");
    add(rank.exposed_waiting_s, "waiting");
    add(rank.exposed_bubble_s, "bubble");
  }
  return parts.empty() ? all : fmt::format("{} ({})", all, parts);
}

std::vector<std::string> summary_facts(const Summary& summary, bool is_marked) {
  const double length_s = summary.range.length_s();
  const std::optional<double> covered = covered_share(summary.mean);
  std::vector<std::string> facts = {
      exposed_text(summary, summary.mean),
      "communication covered " + (covered ? percent_text(*covered) : "-"),
      "idle " + (length_s > 0 ? percent_text(summary.mean.idle_s / length_s) : "-")};
  if (is_marked) {
    for (std::string& fact : facts) fact.insert(0, "marked range: ");
  }
  return facts;
}

}  // namespace viewer
