#include "tuner/planners/pro_prophet/pro_prophet.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "tuner/planners/placement/hidden_transfers.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/pro_prophet/greedy_placement.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// n of the search, if it was asked for.
std::optional<int> left_out(const PlannerOptions& options, std::string_view planner, int devices) {
  const auto asked = asked_for(options, kLeftOut);
  if (!asked) return std::nullopt;
  if (*asked >= devices) {
    throw moe::Refusal(planner, fmt::format("left_out={} of {} devices", *asked, devices),
                       fmt::format("expected 0 to {}", devices - 1));
  }
  return static_cast<int>(*asked);
}

bool is_released(const PlannerOptions& options) {
  return whole_value_of(options, kReleased, 0) == 1;
}

constexpr double kReleasedBalance = 3;  // a of Eq. 7 [Pro-Prophet, its authors' code]

moe::Schedule searched(const Situation& situation, const PlannerOptions& options,
                       std::string_view planner, Transfers transfers) {
  GreedyOptions search{.transfers = transfers};
  search.to_all = is_released(options);
  search.balance = value_of(options, kBalance, search.to_all ? kReleasedBalance : search.balance);
  search.each_apart = transfers == Transfers::scheduled && !asked_for(options, kLeftOut);
  return placed_schedule(situation, std::string(planner), [&](const PlacedLayer& layer) {
    search.left_out = left_out(options, planner, layer.rows.members);
    return greedy_placement(layer.rows, layer.costs, search).placement;
  });
}

}  // namespace

moe::Schedule plan_pro_prophet_planner(const Situation& situation, const PlannerOptions& options) {
  return searched(situation, options, "pro_prophet_planner", Transfers::blocking);
}

moe::Schedule plan_pro_prophet_scheduler(const Situation& situation,
                                         const PlannerOptions& options) {
  return with_hidden_transfers(
      situation, searched(situation, options, "pro_prophet_scheduler", Transfers::blocking),
      is_released(options));
}

moe::Schedule plan_pro_prophet(const Situation& situation, const PlannerOptions& options) {
  if (is_released(options)) {
    return with_hidden_transfers(
        situation, searched(situation, options, "pro_prophet", Transfers::overlapped), true);
  }
  std::vector<Candidate> candidates;
  for (const Transfers transfers : {Transfers::overlapped, Transfers::scheduled}) {
    candidates.push_back(
        {with_hidden_transfers(situation, searched(situation, options, "pro_prophet", transfers))});
  }
  return fastest_simulated(situation, std::move(candidates)).schedule;
}

}  // namespace tuner
