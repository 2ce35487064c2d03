#include "tuner/planners/pro_prophet/greedy_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "tuner/planners/placement/most_loaded_experts.h"
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
    best_s_ = home_s_ = seconds(at_home_.extremes(), 0, 0);
  }

  /// Takes experts until the loads are balanced or nothing can be gained.
  void try_receivers(int most) {
    ReplicatedLoads loads = at_home_;
    double trans_s = 0, agg_s = 0;
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
      trans_s += costs_.trans_s[holders.size()];
      agg_s += costs_.agg_s[holders.size()];
      if (least_s(now, trans_s, agg_s) >= best_s_) return;
      if (const double now_s = seconds(now, trans_s, agg_s); now_s < best_s_) {
        best_s_ = now_s;
        best_receivers_ = most;
        best_taken_ = taken + 1;
      }
    }
  }

  GreedyPlacement result() {
    GreedyPlacement found;
    found.seconds = best_s_;
    found.at_home_s = home_s_;
    found.left_out = rows_.members - 1 - best_receivers_;
    for (std::size_t i = 0; i < best_taken_; ++i) {
      const auto holders = holders_of(order_[i], best_receivers_);
      if (holders.empty()) continue;
      std::vector<bool> holds(static_cast<std::size_t>(rows_.members), false);
      for (const int holder : holders) holds[holder] = true;
      moe::ReplicatedExpert& replica = found.placement.replicas.emplace_back();
      replica.expert = order_[i];
      for (int member = 0; member < rows_.members; ++member) {
        if (holds[member]) replica.holders.push_back(member);
      }
    }
    std::sort(found.placement.replicas.begin(), found.placement.replicas.end());
    return found;
  }

 private:
  double seconds(const ReplicatedLoads::Extremes& loads, double trans_s, double agg_s) const {
    return layer_s(costs_,
                   {all_to_all_s(costs_, loads.most_received),
                    forward_experts_s(costs_, loads.most_computed), trans_s, agg_s},
                   options_.transfers);
  }
  /// A lower bound of the cost of this placement and of all that follow from it: transfers are only
  /// added, the loads of members whose experts have all been taken stay or rise, and no placement
  /// beats even computation.
  double least_s(const ReplicatedLoads::Extremes& loads, double trans_s, double agg_s) const {
    const double fec_s = std::max(even_fec_s_, forward_experts_s(costs_, loads.settled_computed));
    return layer_s(costs_, {all_to_all_s(costs_, loads.settled_received), fec_s, trans_s, agg_s},
                   options_.transfers);
  }

  /// The members with most inputs for the expert: at most so many, none without inputs.
  std::span<const int> holders_of(int expert, int most) {
    auto& known = receivers_[expert];
    if (!known) {
      std::vector<std::int64_t> inputs = rows_by_member(rows_, expert);
      inputs[home_of(rows_, expert)] = 0;
      known = most_loaded(inputs);
      while (!known->empty() && inputs[known->back()] == 0) {
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
  int best_receivers_ = 0;
  std::size_t best_taken_ = 0;
};

}  // namespace

GreedyPlacement greedy_placement(const GroupedRows& rows, const ProProphetCosts& costs,
                                 const GreedyOptions& options) {
  Search search(rows, costs, options);
  for (const int count : receivers_to_try(rows.members, options.left_out)) {
    search.try_receivers(count);
  }
  return search.result();
}

}  // namespace tuner
