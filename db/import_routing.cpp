#include "db/import_routing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

bool are_same_loads(const std::vector<Load>& first, const std::vector<Load>& second) {
  const auto key = [](const Load& load) {
    return std::tuple(load.iteration, load.layer, load.rank, load.expert, load.tokens);
  };
  return std::ranges::equal(first, second, {}, key, key);
}

}  // namespace

StoredRouting store_routing(Connection& connection, Run run, const RoutingCounts& counts) {
  nlohmann::json model{{"experts", counts.experts}};
  if (counts.choices) model["choices"] = *counts.choices;
  run.kind = kRoutingRun;
  run.model_json = model.dump();
  run.network.clear();
  run.revision.clear();  // of another program
  run.ranks = 1 + std::ranges::max(counts.loads, {}, &Load::rank).rank;
  for (const Run& earlier : load_runs(connection, {.kind = kRoutingRun})) {
    if (earlier.model_json != run.model_json) continue;
    if (are_same_loads(load_loads(connection, {.run_id = earlier.id}), counts.loads)) {
      return {earlier.id, true};
    }
  }
  Transaction transaction(connection, "store a routing of another program");
  const std::int64_t id = begin_run(connection, std::move(run), this_machine());
  std::vector<Load> loads = counts.loads;
  for (Load& load : loads) load.run_id = id;
  insert(connection, loads);
  finish_run(connection, id, "done");
  transaction.commit();
  return {id, false};
}

}  // namespace db
