#include "db/timeline/summary.h"

#include <fmt/format.h>

#include <map>

#include "db/console/format_rows.h"
#include "db/timeline/time_ledger.h"

namespace db {

namespace {

constexpr double kLeastShownShare = 0.0005;  // else it reads 0.0%

std::string percent_of(double share) { return format_cell("_share", share); }

}  // namespace

Summary summarize(const Timeline& timeline, TimeInterval range) {
  Summary summary{range, {}, {}, !timeline.first_rank.empty()};
  std::map<const TimeLedger*, RankStatistics> found;
  for (const TimeLedger* ledger : ledgers_by_rank(timeline)) {
    const auto [of, is_new] = found.try_emplace(ledger);
    if (is_new) of->second = statistics(timeline, *ledger, range);
    summary.ranks.push_back(of->second);
    summary.ranks.back().rank =
        timeline.like.empty() ? ledger->rank : static_cast<int>(summary.ranks.size()) - 1;
  }
  summary.mean = mean(summary.ranks);
  return summary;
}

std::optional<double> covered_share(const RankStatistics& rank) {
  if (!(rank.communication_s > 0)) return std::nullopt;
  return rank.covered_s() / rank.communication_s;
}

std::string exposed_text(const Summary& summary, const RankStatistics& rank) {
  const double length_s = summary.range.length_s();
  if (!(length_s > 0)) return "exposed -";
  const std::string all = "exposed " + percent_of(rank.exposed_s / length_s);
  std::string parts;
  const auto add = [&](double seconds, const char* name) {
    const double share = seconds / length_s;
    if (share < kLeastShownShare) return;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", percent_of(share), name);
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
      "communication covered " + (covered ? percent_of(*covered) : "-"),
      "idle " + (length_s > 0 ? percent_of(summary.mean.idle_s / length_s) : "-")};
  if (is_marked) {
    for (std::string& fact : facts) fact.insert(0, "marked range: ");
  }
  return facts;
}

}  // namespace db
