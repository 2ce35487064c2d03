#include "viewer/model/summary.h"

#include "viewer/model/time_ledger.h"

namespace viewer {

Summary summarize(const Timeline& timeline, TimeRange range) {
  Summary summary{range, {}, {}};
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

}  // namespace viewer
