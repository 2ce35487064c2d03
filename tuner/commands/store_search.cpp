#include "tuner/commands/store_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/identity.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/model/model_json.h"
#include "moe/program/timeline.h"
#include "moe/run/machine.h"

namespace tuner {

std::string order_of(const FoundSetup& found) {
  nlohmann::json order{{"order", db::kSequential}};
  for (const auto& one : moe::decisions_of<moe::OrderMicroBatches>(found.schedule)) {
    write(order, one);
  }
  return order.at("order");
}

std::int64_t store_search(db::Connection& connection, const std::vector<FoundRow>& rows,
                          const std::vector<std::vector<std::string>>& swept,
                          const moe::Model& model, const Cluster& cluster, int argc, char** argv) {
  db::Run run = db::this_run("search", model.name, argc, argv);
  for (const FoundRow& row : rows) run.ranks = std::max(run.ranks, row.ranks);
  run.model_json = moe::to_json(model);
  run.cluster_json = to_json(cluster);
  run.seed = model.seed;
  db::Transaction transaction(connection, "store what a search found");
  const std::int64_t id = db::begin_run(connection, std::move(run), moe::this_machine());
  std::vector<db::PredictedSetup> setups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FoundRow& row = rows[i];
    const FoundSetup& found = row.found;
    db::PredictedSetup& setup = setups.emplace_back();
    setup.run_id = id;
    setup.settings = fmt::format("{}", fmt::join(swept[i], " "));
    setup.ranks = row.ranks;
    setup.place = row.place;
    setup.layout = moe::short_text(found.setup.layout);
    setup.micro_batches = found.setup.micro_batches;
    setup.batch_per = name_of(found.setup.batch_per);
    setup.micro_batch_order = order_of(found);
    setup.planner = found.schedule.planner;
    setup.schedule_id = db::find_or_insert(connection, moe::schedule_row(found.schedule));
    setup.shard_optimizer = moe::decisions_of<moe::ShardOptimizer>(found.schedule).empty() ? 0 : 1;
    setup.restored_blocks =
        static_cast<int>(moe::decisions_of<moe::RestoreBlock>(found.schedule).size());
    setup.predicted_s = found.predicted_s;
    setup.tokens_per_s = row.tokens_per_s;
    setup.peak_share = row.peak_share;
    setup.parameter_bytes = found.peak.parameters;
    setup.gradient_bytes = found.peak.gradients;
    setup.optimizer_bytes = found.peak.optimizer;
    setup.activation_bytes = found.peak.activations;
    setup.buffer_bytes = found.peak.buffers;
    setup.predicted_peak_bytes = found.peak.all();
    if (row.memory_bytes > 0) setup.memory_limit_bytes = row.memory_bytes;
    setup.lower_bound_s = found.lower_bound_s;
    setup.bounded_by = found.bounded_by;
  }
  db::insert(connection, setups);
  db::finish_run(connection, id, "done");
  transaction.commit();
  return id;
}

}  // namespace tuner
