#include "tuner/commands/best_layout.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "db/console/format_rows.h"
#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/model/published/read_config.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/scenario/sweep.h"

namespace tuner {
namespace {

/// The orders of micro-batches that the requested planners may choose.
std::vector<const Planner*> orders_of(const std::vector<PlannerRequest>& requests) {
  std::vector<const Planner*> orders;
  for (const Planner* const order : search_orders()) {
    const bool asked = std::ranges::any_of(requests, [&](const PlannerRequest& request) {
      return request.planner == order || request.planner->name == kJoint;
    });
    if (asked || order->passes == Passes::one_after_other) orders.push_back(order);
  }
  return orders;
}

}  // namespace

FastestLayouts fastest_layouts(const ScenarioOptions& options, const moe::Model& model,
                               const MeasuredCosts& costs, int ranks,
                               const std::vector<PlannerRequest>& requests, int count,
                               std::int64_t memory_bytes,
                               const std::optional<LayoutRange>& layouts) {
  SearchOptions search;
  search.layouts = layouts.value_or(usual_layouts(costs.costed.cluster.ranks_per_node));
  search.orders = orders_of(requests);
  search.top = count == 1 ? 1 : 2 * count;  // half of them are the fastest
  search.memory_bytes = memory_bytes;
  // A config.json says nothing of micro-batches.
  if (!moe::is_config(options.model) || is_set(options.settings, "training.micro_batches")) {
    search.micro_batches = {model.micro_batches};
    if (setups_of(model, ranks, *search.layouts, search.micro_batches).setups.empty()) {
      search.micro_batches.reset();
    }
  }
  SearchResult result = search_setups(options, model, costs, ranks, search);
  FastestLayouts fastest{{}, result.layouts};
  for (FoundSetup& found : result.found) {
    const auto is_same = [&](const FoundSetup& one) {
      return one.setup.layout == found.setup.layout;
    };
    if (std::ranges::any_of(fastest.found, is_same)) continue;
    fastest.found.push_back(std::move(found));
    if (fastest.found.size() == static_cast<std::size_t>(count)) break;
  }
  return fastest;
}

std::string fastest_in_words(const FastestLayouts& fastest, const moe::Model& model) {
  const FoundSetup& best = fastest.found.front();
  std::string how = best.order;
  if (!moe::decisions_of<moe::ShardOptimizer>(best.schedule).empty()) how += ", shard_optimizer";
  if (const auto restored = std::ssize(moe::decisions_of<moe::RestoreBlock>(best.schedule))) {
    how += fmt::format(", {} restored in backward", db::counted(restored, "block"));
  }
  return fmt::format("{}: of {} layouts the fastest by search ({}: {})",
                     options_of(model, best.setup), fastest.layouts, how,
                     db::format_cell("predicted_s", best.predicted_s));
}

Scenario load_with_best_layout(ScenarioOptions options, const std::vector<PlannerRequest>& requests,
                               std::set<std::string>& said) {
  const auto say = [&](const std::string& text) {
    if (said.insert(text).second) spdlog::info(text);
  };
  moe::Model model = load_named_model(options, say);
  MeasuredCosts costs = load_named_costs(options, model);
  const Cluster& cluster = costs.costed.cluster;
  const int all = cluster.nodes * cluster.ranks_per_node, ranks = options.ranks.value_or(all);
  if (options.layout.empty() && ranks > 1 && ranks <= all) {
    try {
      const FastestLayouts fastest = fastest_layouts(options, model, costs, ranks, requests, 1);
      const TrainingSetup& best = fastest.found.front().setup;
      say(fastest_in_words(fastest, model) +
          "; moe-tune search tries micro-batches and schedules too");
      options.layout = moe::to_text(best.layout);
      model = with_setup(std::move(model), best);
      // A study may have measured this very layout.
      if (is_measured_cluster(options.cluster)) costs = load_named_costs(options, model);
    } catch (const moe::Refusal& refusal) {
      say(fmt::format("all experts are over all ranks, as a search finds no layout: {}",
                      refusal.what()));
    }
  }
  Scenario scenario = scenario_of(options, std::move(model), std::move(costs));
  say_remarks(scenario, said);
  return scenario;
}

}  // namespace tuner
