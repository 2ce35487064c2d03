#include "tuner/commands/best_layout.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/search/search.h"

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

ScenarioOptions with_best_layout(ScenarioOptions options,
                                 const std::vector<PlannerRequest>& requests,
                                 std::set<std::string>& said) {
  if (!options.layout.empty()) return options;
  const moe::Model model = load_named_model(options);
  const MeasuredCosts costs = load_named_costs(options, model);
  const Cluster& cluster = costs.costed.cluster;
  const int ranks = options.ranks.value_or(cluster.nodes * cluster.ranks_per_node);
  if (ranks == 1 || ranks > cluster.nodes * cluster.ranks_per_node) return options;
  SearchOptions search;
  search.orders = orders_of(requests);
  search.top = 1;
  search.micro_batches = {model.micro_batches};
  if (setups_of(model, ranks, search.layouts, search.micro_batches).setups.empty()) {
    search.micro_batches.reset();
  }
  try {
    const SearchResult result = search_setups(options, model, costs, ranks, search);
    const FoundSetup& best = result.found.front();
    options.layout = moe::to_text(best.setup.layout);
    const auto set = [&](const std::string& key, const auto& value) {
      std::erase_if(options.settings,
                    [&](const std::string& one) { return one.starts_with(key + '='); });
      options.settings.push_back(fmt::format("{}={}", key, value));
    };
    if (best.setup.micro_batches != model.micro_batches) {
      set("training.micro_batches", best.setup.micro_batches);
    }
    if (best.setup.batch_per != model.batch_per) {
      set("training.batch_per", name_of(best.setup.batch_per));
    }
    const std::string text = fmt::format(
        "{}: of {} layouts the fastest by search ({}: {}); moe-tune search tries micro-batches and "
        "schedules too",
        options_of(model, best.setup), result.layouts, best.order,
        db::format_cell("predicted_s", best.predicted_s));
    if (said.insert(text).second) spdlog::info(text);
  } catch (const moe::Refusal&) {  // loading says why
  }
  return options;
}

}  // namespace tuner
