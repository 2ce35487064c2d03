#include "tuner/planners/placement/placement_costs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "db/experts_in_order.h"
#include "moe/ops/collective.h"
#include "moe/program/row_handling.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// Sums over the ops of a MoE layer.
struct LayerSums {
  double exchange_s = 0, exchange_startup_s = 0;  // sums of all its all-to-alls
  int exchanges = 0;
  double forward_experts_s = 0, forward_experts_startup_s = 0;
  double fnec_s = 0, bnec_s = 0;
};

/// `binding` is that of any rank. The number of an op's calls does not depend on it: an expert
/// without rows is launched too.
double startup_of(const Situation& situation, const moe::Op& op, const OpCost& cost,
                  const moe::Binding& binding) {
  if (moe::is_communication(op)) {
    double alpha_s = 0;
    for (const GroupCall& call : cost.calls) alpha_s = std::max(alpha_s, call.alpha_s);
    return alpha_s;
  }
  const LinearFit& fit = situation.costs.fits.at(fit_key(situation.costs, situation.program, op));
  return fit.alpha_s *
         units_of(situation.program, op, binding, situation.groups, 0, situation.costs.device)
             .calls;
}

/// The computation of neighbouring blocks, experts aside, that can hide transfers. Transfers of
/// parameters have that of the first micro-batch, before the layer's dispatch. Transfers of
/// gradients have that of the last one, after the layer's combine.
class Neighbours {
 public:
  explicit Neighbours(const moe::Program& program) : last_(program.micro_batches - 1) {}

  void add(const moe::Op& op, double seconds, std::map<int, LayerSums>& layers) {
    const auto direction = moe::direction_of(op);
    if (op.phase == moe::Phase::forward && op.micro_batch == 0) {
      if (direction == moe::Direction::dispatch && seen_.insert(op.layer).second) {
        layers[op.layer].fnec_s = before_s_;
      }
      if (direction == moe::Direction::combine) before_s_ = 0;
      if (!direction && !moe::is_communication(op)) before_s_ += seconds;
    }
    if (op.phase == moe::Phase::backward && op.micro_batch == last_ && !moe::comes_once(op)) {
      if (direction == moe::Direction::dispatch) behind_ = -1;
      if (direction == moe::Direction::combine) behind_ = op.layer;
      if (behind_ >= 0 && !moe::is_communication(op)) layers[behind_].bnec_s += seconds;
    }
  }

 private:
  int last_;
  std::set<int> seen_;
  double before_s_ = 0;
  int behind_ = -1;  // the layer whose backward ended last
};

std::map<int, LayerSums> sums_by_layer(const Situation& situation, const ProgramCosts& costs) {
  const moe::Program& program = situation.program;
  const std::vector<double> seconds = alone_seconds(situation, costs);
  const moe::Binding binding = moe::bind(program, situation.routing, situation.groups, 0);
  std::map<int, LayerSums> layers;
  Neighbours neighbours(program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (!belongs_to_pipeline(program, op)) {
      neighbours.add(op, seconds[i], layers);
      continue;
    }
    if (moe::direction_of(op)) neighbours.add(op, seconds[i], layers);
    LayerSums& sums = layers[op.layer];
    const double startup_s = startup_of(situation, op, costs.ops[i], binding);
    if (moe::is_communication(op)) {
      // The exchanges of ranks that share an expert grow with the same rows.
      sums.exchange_s += seconds[i];
      sums.exchange_startup_s += startup_s;
      sums.exchanges += moe::direction_of(op) ? 1 : 0;
    } else if (op.phase == moe::Phase::forward) {
      sums.forward_experts_s += seconds[i];
      sums.forward_experts_startup_s += startup_s;
    }
  }
  return layers;
}

RowCost row_cost(double seconds, double startup_s, const std::vector<std::int64_t>& rows) {
  const auto most = *std::max_element(rows.begin(), rows.end());
  const double volume_s = std::max(0.0, seconds - startup_s);
  return {seconds - volume_s, most > 0 ? volume_s / static_cast<double>(most) : 0};
}

/// The bytes of an expert's parameters, as many as those of its gradients.
struct ExpertBytes {
  std::int64_t bytes = 0;
  std::int64_t fragment_bytes = 0;  ///< of all its tensors, that pass a ring together
};
ExpertBytes expert_bytes(const moe::Program& program, int layer, int local_experts) {
  ExpertBytes expert;
  for (const moe::Parameter& parameter : program.parameters) {
    if (parameter.layer != layer || !moe::belongs_to_experts(parameter)) continue;
    const moe::Tensor& tensor = program.tensors[parameter.value];
    const std::int64_t bytes =
        tensor.rows / local_experts * tensor.columns * moe::bytes_of(tensor.dtype);
    expert.bytes += bytes;
    expert.fragment_bytes += moe::chain_fragment_bytes(bytes);
  }
  return expert;
}

/// Expert groups with members where the first rank is: all of them send the same experts. `of_rank`:
/// the number of a card, or of a block.
int groups_with_first(const moe::Groups& groups, const auto& of_rank) {
  std::set<int> firsts;
  for (int rank = 0; rank < moe::stage_ranks(groups); ++rank) {
    if (of_rank(rank) != of_rank(0)) continue;
    firsts.insert(moe::members(groups, moe::GroupKind::expert, rank).front());
  }
  return static_cast<int>(firsts.size());
}

/// [member of the first expert group]: its number in `of_rank`, counted from 0.
std::vector<int> numbers_in_first_group(const moe::Groups& groups,
                                        const std::vector<int>& of_rank) {
  std::map<int, int> known;
  std::vector<int> numbers;
  for (const int rank : moe::members(groups, moe::GroupKind::expert, 0)) {
    const int next = static_cast<int>(known.size());
    numbers.push_back(known.try_emplace(of_rank[rank], next).first->second);
  }
  return numbers;
}

/// Of the first expert group.
DevicePlaces device_places(const moe::Groups& groups) {
  DevicePlaces places;
  places.node_of = numbers_in_first_group(groups, groups.node_of);
  if (!groups.card_of.empty()) places.card_of = numbers_in_first_group(groups, groups.card_of);
  for (const moe::Level& level : groups.levels) {
    places.block_of.push_back(numbers_in_first_group(groups, level.block_of));
  }
  if (groups.place_of.empty()) return places;
  const std::vector<int> group = moe::members(groups, moe::GroupKind::expert, 0);
  for (const int from : group) {
    std::vector<int>& senders = places.sender.emplace_back();
    for (const int to : group) {
      const int sender = moe::sending_rank(groups, group, from, to);
      senders.push_back(moe::index_in_group(groups, moe::GroupKind::expert, sender));
    }
  }
  return places;
}

/// An exchange of experts by an op.
TransferCost transfer_cost(const Situation& situation, const moe::Op& op,
                           const ExpertBytes& expert) {
  const auto seconds_at = [&](double bytes_per_s) {
    return bytes_per_s > 0 ? static_cast<double>(expert.bytes) / bytes_per_s : 0;
  };
  const auto on_link = [&](Occupation occupation, const Link& link) -> TransferCost::OnLink {
    const LinkCost cost = link_cost(situation.costs, op, occupation, link,
                                    {static_cast<double>(expert.bytes), expert.fragment_bytes});
    return {cost.startup_s, cost.pass_s,
            seconds_at(std::min(cost.bytes_per_s, link.bandwidth_bytes_per_s))};
  };
  const Cluster& cluster = situation.cluster;
  const moe::Groups& groups = situation.groups;
  const auto of_all = [&](const Link& link, const auto& of_rank) {
    return groups_with_first(groups, of_rank) * seconds_at(link.bandwidth_bytes_per_s);
  };
  TransferCost cost{
      on_link(Occupation::inter_node, cluster.inter_node),
      on_link(Occupation::intra_node, cluster.intra_node),
      of_all(cluster.inter_node, [&](int rank) { return moe::network_card(groups, rank); }),
      {}};
  for (std::size_t level = 0; level < groups.levels.size(); ++level) {
    const Link& uplink = cluster.levels[level].uplink;
    cost.levels.push_back({uplink.latency_s, of_all(uplink, [&](int rank) {
                             return groups.levels[level].block_of[rank];
                           })});
  }
  return cost;
}

std::array<RouteCost, moe::kExpertRoutes> route_costs(const Situation& situation,
                                                      const ExpertBytes& expert) {
  std::array<RouteCost, moe::kExpertRoutes> routes;
  for (int route = 0; route < moe::kExpertRoutes; ++route) {
    moe::PlacedExperts placed;
    placed.placement.route = static_cast<moe::ExpertRoute>(route);
    const auto cost_of = [&](moe::OpKind kind) {
      ExpertBytes sent = expert;
      if (!placed.on_rings()) sent.fragment_bytes = 0;
      moe::Op op;
      op.kind = std::move(kind);
      return transfer_cost(situation, op, sent);
    };
    routes[route] = {cost_of(moe::SendExperts{placed}), cost_of(moe::ReturnGradients{placed})};
  }
  return routes;
}

}  // namespace

std::vector<PlacedLayer> placed_layers(const Situation& situation) {
  const int ranks = situation.groups.ranks;
  const ProgramCosts costs = program_costs(
      situation.program, situation.groups, situation.routing, situation.costs, situation.cluster,
      {.most_single = ranks, .most_pairs = 0, .most_even = ranks});  // of each rank by itself
  const moe::Routing whole = moe::add_micro_batches(situation.routing);
  const auto sums = sums_by_layer(situation, costs);
  const moe::Groups& groups = situation.groups;
  const DevicePlaces places = device_places(groups);
  const bool crosses = std::ranges::max(places.node_of) > 0;
  const double speed = speed_of(situation.costs.interference, Occupation::computation,
                                crosses ? Occupation::inter_node : Occupation::intra_node);
  std::map<int, double> experts_before_s;  // of the last MoE layer, by stage
  std::vector<PlacedLayer> layers;
  for (std::size_t i = 0; i < situation.program.ops.size(); ++i) {
    const moe::Op& op = situation.program.ops[i];
    if (!moe::is_all_to_all(op) || (!layers.empty() && layers.back().layer >= op.layer)) continue;
    PlacedLayer& one = layers.emplace_back();
    one.layer = op.layer;
    one.routing = moe::layer_of(whole, {op.layer, 0, 0});
    const moe::ExpertHomes homes = moe::homes_of(situation.program.homes, op.layer);
    one.rows = grouped_rows(one.routing, situation.groups, homes);
    one.all_to_all = costs.ops[i];
    const LayerSums& sum = sums.at(op.layer);
    const PlacedLoads loads =
        placed_loads(one.routing, situation.groups, {{}, moe::RowsOfOthers::home, homes});
    // There are four all-to-alls. The time of each is summed over the micro-batches.
    one.costs.exchange = row_cost(sum.exchange_s / 4, sum.exchange_startup_s / 4, loads.received);
    one.costs.experts =
        row_cost(sum.forward_experts_s, sum.forward_experts_startup_s, loads.computed);
    const int local =
        db::ExpertsInOrder{one.routing.experts, situation.groups.layout.expert}.most();
    one.costs.places = places;
    one.costs.routes = route_costs(situation, expert_bytes(situation.program, op.layer, local));
    one.costs.fnec_s = sum.fnec_s;
    one.costs.bnec_s = sum.bnec_s;
    double& experts_s = experts_before_s[op.stage];
    one.costs.beside = {sum.fnec_s + experts_s, sum.bnec_s + experts_s, speed};
    const auto rows =
        std::accumulate(loads.computed.begin(), loads.computed.end(), std::int64_t{0});
    experts_s =
        forward_experts_s(one.costs, rows / static_cast<std::int64_t>(loads.computed.size())) /
        situation.program.micro_batches;
  }
  return layers;
}

double seconds_beside_layers(const Situation& situation) {
  const std::vector<double> seconds =
      alone_seconds(situation, costs_of(situation, situation.program));
  double sum_s = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!belongs_to_pipeline(situation.program, situation.program.ops[i])) sum_s += seconds[i];
  }
  return sum_s;
}

}  // namespace tuner
