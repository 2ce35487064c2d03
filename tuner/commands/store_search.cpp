#include "tuner/commands/store_search.h"

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
namespace {

/// "one_f_one_b"; "sequential" where the schedule has no order of micro-batches.
std::string order_of(const moe::Schedule& schedule) {
  nlohmann::json order{{"order", db::kSequential}};
  for (const auto& one : moe::decisions_of<moe::OrderMicroBatches>(schedule)) write(order, one);
  return order.at("order");
}

}  // namespace

db::PredictedSetup figures_of(const FoundSetup& found) {
  db::PredictedSetup figures;
  figures.layout = moe::short_text(found.setup.layout);
  figures.micro_batches = found.setup.micro_batches;
  figures.batch_per = name_of(found.setup.batch_per);
  figures.micro_batch_order = order_of(found.schedule);
  figures.planner = found.schedule.planner;
  figures.shard_optimizer = moe::decisions_of<moe::ShardOptimizer>(found.schedule).empty() ? 0 : 1;
  const auto restored = moe::decisions_of<moe::RestoreBlock>(found.schedule);
  figures.restored_blocks = static_cast<int>(restored.size());
  figures.whole_blocks = static_cast<int>(std::ranges::count(
      restored, moe::RestoreCommunication::repeat, &moe::RestoreBlock::communication));
  figures.predicted_s = found.predicted_s;
  figures.tokens_per_s = static_cast<double>(found.tokens) / found.predicted_s;
  figures.parameter_bytes = found.peak.parameters;
  figures.gradient_bytes = found.peak.gradients;
  figures.optimizer_bytes = found.peak.optimizer;
  figures.activation_bytes = found.peak.activations;
  figures.buffer_bytes = found.peak.buffers;
  figures.predicted_peak_bytes = found.peak.all();
  figures.lower_bound_s = found.lower_bound_s;
  figures.bounded_by = found.bounded_by;
  return figures;
}

std::int64_t store_search(db::Connection& connection, const std::vector<FoundRow>& rows,
                          const moe::Model& model, const Cluster& cluster, int argc, char** argv) {
  db::Run run = db::this_run("search", model.name, argc, argv);
  for (const FoundRow& row : rows) run.ranks = std::max(run.ranks, row.figures.ranks);
  run.model_json = moe::to_json(model);
  run.cluster_json = to_json(cluster);
  run.seed = model.seed;
  db::Transaction transaction(connection, "store what a search found");
  const std::int64_t id = db::begin_run(connection, std::move(run), moe::this_machine());
  std::vector<db::PredictedSetup> setups;
  for (const FoundRow& row : rows) {
    db::PredictedSetup& setup = setups.emplace_back(row.figures);
    setup.run_id = id;
    setup.schedule_id = db::find_or_insert(connection, moe::schedule_row(row.schedule));
  }
  db::insert(connection, setups);
  db::finish_run(connection, id, "done");
  transaction.commit();
  return id;
}

}  // namespace tuner
