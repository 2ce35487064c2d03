#include "tuner/planners/pro_prophet/greedy_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/transfer_loads.h"
#include "tuner/planners/pro_prophet/replicated_loads.h"

namespace tuner {
namespace {

/// The numbers of devices, beside its own, that a search may send an expert to.
std::vector<int> receivers_to_try(int devices, std::optional<int> left_out) {
  if (left_out) {
    if (*left_out < 0 || *left_out >= devices) {
      throw std::invalid_argument(fmt::format("greedy_placement: n = {}: expected 0 to {}, of {}",
                                              *left_out, devices - 1, devices));
    }
    return {devices - *left_out - 1};
  }
  std::vector<int> counts;
  for (int count = 1; count < devices - 1; count *= 2) counts.push_back(count);
  if (devices > 1) counts.push_back(devices - 1);
  return counts;
}

/// 1 where every expert has a device without inputs for it, else 0.
std::optional<int> devices_without_inputs(const GroupedRows& rows) {
  for (int expert = 0; expert < rows.experts; ++expert) {
    if (std::ranges::count(rows_by_member(rows, expert), 0) == 0) return 0;
  }
  return 1;
}

/// One layer's search, for every n that is tried.
class Search {
 public:
  Search(const GroupedRows& rows, const ProProphetCosts& costs, const GreedyOptions& options)
      : rows_(rows),
        costs_(costs),
        options_(options),
        totals_(rows_by_expert(rows)),
        order_(most_loaded(totals_)),
        receivers_(totals_.size()),
        at_home_(rows) {
    const auto inputs = std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0});
    inputs_ = static_cast<double>(inputs) / rows.copies;
    even_fec_s_ = costs.experts.startup_s + costs.experts.per_row_s * inputs_ / rows.members;
    best_s_ = home_s_ = seconds(at_home_.extremes(), {});
  }

  /// Takes experts until the loads are balanced or nothing can be gained.
  void try_receivers(int most) {
    ReplicatedLoads loads = at_home_;
    TransfersByRoute transfers(costs_);
    ReplicatedLoads::Extremes now = loads.extremes();
    for (std::size_t taken = 0; taken < order_.size(); ++taken) {
      if (is_balanced(now.most_computed, now.least_computed, options_.balance, inputs_,
                      rows_.experts)) {
        return;
      }
      const auto holders = holders_of(order_[taken], most);
      loads.take(order_[taken], holders);
      if (holders.empty()) continue;
      now = loads.extremes();
      transfers.send(rows_.homes[order_[taken]], holders);
      const TransfersByRoute::Cheapest routed = transfers.cheapest(costs_);
      if (least_s(now, routed.least) >= best_s_) return;
      if (const double now_s = seconds(now, routed.times); now_s < best_s_) {
        best_s_ = now_s;
        best_.clear();
        for (std::size_t i = 0; i <= taken; ++i) best_.push_back({order_[i], most});
        best_route_ = routed.route;
      }
    }
  }

  /// Goes through the experts once and gives each the number of devices that lowers the time most,
  /// if any does.
  void try_each_apart() {
    ReplicatedLoads loads = at_home_;
    TransfersByRoute transfers(costs_);
    double now_s = home_s_;
    std::vector<Taken> taken;
    moe::ExpertRoute route = moe::ExpertRoute::unicast;
    for (const int expert : order_) {
      const ReplicatedLoads::Extremes now = loads.extremes();
      if (is_balanced(now.most_computed, now.least_computed, options_.balance, inputs_,
                      rows_.experts)) {
        break;
      }
      std::span<const int> best;
      for (const int most : receivers_to_try(rows_.members, {})) {
        const auto holders = holders_of(expert, most);
        if (holders.size() == best.size()) continue;
        ReplicatedLoads with = loads;
        with.take(expert, holders);
        TransfersByRoute with_it = transfers;
        with_it.send(rows_.homes[expert], holders);
        const TransfersByRoute::Cheapest routed = with_it.cheapest(costs_);
        const double with_s = seconds(with.extremes(), routed.times);
        if (with_s >= now_s) continue;
        now_s = with_s;
        best = holders;
        route = routed.route;
      }
      loads.take(expert, best);
      if (best.empty()) continue;
      transfers.send(rows_.homes[expert], best);
      taken.push_back({expert, static_cast<int>(best.size())});
    }
    if (now_s >= best_s_) return;
    best_s_ = now_s;
    best_ = std::move(taken);
    best_route_ = route;
  }

  GreedyPlacement result() {
    GreedyPlacement found;
    found.seconds = best_s_;
    found.at_home_s = home_s_;
    int most = 0;
    for (const auto& [expert, receivers] : best_) {
      most = std::max(most, receivers);
      const auto holders = holders_of(expert, receivers);
      if (holders.empty()) continue;
      moe::ReplicatedExpert& replica = found.placement.replicas.emplace_back();
      replica.expert = expert;
      replica.holders.assign(holders.begin(), holders.end());
      std::ranges::sort(replica.holders);
    }
    found.left_out = rows_.members - 1 - most;
    std::sort(found.placement.replicas.begin(), found.placement.replicas.end());
    found.placement.route = best_route_;
    return found;
  }

 private:
  /// An expert, and how many devices at most get it.
  struct Taken {
    int expert = 0, receivers = 0;
  };

  double seconds(const ReplicatedLoads::Extremes& loads, const TransferTimes& times) const {
    return layer_s(costs_,
                   {all_to_all_s(costs_, loads.most_received),
                    forward_experts_s(costs_, loads.most_computed), times.trans_s, times.agg_s},
                   options_.transfers);
  }
  /// A lower bound of the cost of this placement and of all that follow from it: transfers are only
  /// added, the loads of members whose experts have all been taken stay or rise, and no placement
  /// beats even computation.
  double least_s(const ReplicatedLoads::Extremes& loads, const TransferTimes& least) const {
    const double fec_s = std::max(even_fec_s_, forward_experts_s(costs_, loads.settled_computed));
    return layer_s(
        costs_, {all_to_all_s(costs_, loads.settled_received), fec_s, least.trans_s, least.agg_s},
        options_.transfers);
  }

  /// The members with most inputs for the expert: at most so many, none without inputs.
  std::span<const int> holders_of(int expert, int most) {
    auto& known = receivers_[expert];
    if (!known) {
      std::vector<std::int64_t> inputs = rows_by_member(rows_, expert);
      inputs[rows_.homes[expert]] = 0;
      known = most_loaded(inputs);
      if (options_.to_all) std::erase(*known, rows_.homes[expert]);
      while (!options_.to_all && !known->empty() && inputs[known->back()] == 0) {
        known->pop_back();
      }
    }
    return std::span(*known).first(std::min(known->size(), static_cast<std::size_t>(most)));
  }

  const GroupedRows& rows_;
  const ProProphetCosts& costs_;
  const GreedyOptions& options_;
  std::vector<std::int64_t> totals_;
  std::vector<int> order_;                                  // experts, most inputs first
  std::vector<std::optional<std::vector<int>>> receivers_;  // by expert, most inputs first
  ReplicatedLoads at_home_;
  double inputs_ = 0;  // inputs of one copy of the experts: I
  double even_fec_s_ = 0;
  double home_s_ = 0, best_s_ = 0;
  std::vector<Taken> best_;
  moe::ExpertRoute best_route_ = moe::ExpertRoute::unicast;
};

}  // namespace

GreedyPlacement greedy_placement(const GroupedRows& rows, const ProProphetCosts& costs,
                                 const GreedyOptions& options) {
  Search search(rows, costs, options);
  const auto left_out = options.to_all ? devices_without_inputs(rows) : options.left_out;
  for (const int count : receivers_to_try(rows.members, left_out)) {
    search.try_receivers(count);
  }
  if (options.each_apart) search.try_each_apart();
  return search.result();
}

}  // namespace tuner
