#include "viewer/model/rank_nodes.h"

#include <cstdint>

#include "db/load.h"
#include "viewer/model/catalog.h"

namespace viewer {

std::map<int, int> rank_nodes(const db::Connection& connection, const Catalog& catalog,
                              const db::TimelineInfo& timeline) {
  std::int64_t run_id = timeline.run_id.value_or(0);
  if (run_id == 0 && timeline.trial_id) {
    const TrialRow* trial = find_trial(catalog, *timeline.trial_id);
    if (trial != nullptr && !trial->runs.empty()) run_id = trial->runs.front();
  }
  std::map<int, int> nodes;
  if (run_id == 0) return nodes;
  for (const db::RunRank& rank : db::load_run_ranks(connection, run_id)) {
    nodes.emplace(rank.rank, rank.node);
  }
  return nodes;
}

}  // namespace viewer
