#include "tuner/scenario/more_nodes.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "tuner/costs/cluster_fits.h"

namespace tuner {
namespace {

constexpr std::string_view kInside = "/intra_node", kBetween = "/inter_node";
constexpr double kGbit_bytes = 1e9 / 8;

/// Of what a rank can use while all ranks of its node send.
Link share_of_rank(const Cluster& cluster, const Link& card) {
  return {card.bandwidth_bytes_per_s * cluster.cards_per_node / cluster.ranks_per_node,
          card.latency_s};
}

/// Costs between nodes where none was measured.
void copy_from_inside(const Cluster& cluster, const Link& card, CostModel& costs) {
  const Link between = share_of_rank(cluster, card);
  std::map<std::string, LinearFit> added;
  for (const auto& [key, fit] : costs.fits) {
    if (!key.ends_with(kInside)) continue;
    added[key.substr(0, key.size() - kInside.size()) + std::string(kBetween)] =
        over_changed_link(fit, cluster.intra_node, between);
  }
  costs.fits.insert(added.begin(), added.end());
}

void change_between(const Cluster& cluster, const Link& card, CostModel& costs) {
  const Link before = share_of_rank(cluster, cluster.inter_node);
  const Link now = share_of_rank(cluster, card);
  for (auto& [key, fit] : costs.fits) {
    if (key.ends_with(kBetween)) fit = over_changed_link(fit, before, now);
  }
}

/// Of the ranks of all nodes.
std::vector<SharedProcessors> shared_by_all(const Cluster& cluster, int nodes) {
  const int per_node = cluster.ranks_per_node, ranks = nodes * per_node;
  std::vector<SharedProcessors> all;
  for (const SharedProcessors& shared : cluster.shared_processors) {
    const int first_node = shared.ranks.front() / per_node;
    if (shared.ranks.back() / per_node != first_node) {  // nodes of one computer
      SharedProcessors wider{shared.seats, {}};
      for (int rank = 0; rank < ranks; ++rank) wider.ranks.push_back(rank);
      return {wider};
    }
    if (first_node > 0) continue;
    for (int node = 0; node < nodes; ++node) {
      SharedProcessors& copy = all.emplace_back(shared);
      for (int& rank : copy.ranks) rank += node * per_node;
    }
  }
  return all;
}

std::string rate_text(const Link& card) {
  return fmt::format("{:g} Gbit/s a card and {:g} us", card.bandwidth_bytes_per_s / kGbit_bytes,
                     card.latency_s * 1e6);
}

}  // namespace

MeasuredCosts with_nodes(MeasuredCosts measured, const AskedNodes& asked) {
  Cluster& cluster = measured.costed.cluster;
  const int before = cluster.nodes, nodes = asked.nodes.value_or(before);
  const bool asks_link = asked.bandwidth_bytes_per_s || asked.latency_s;
  if (nodes == before && !asks_link) return measured;
  Link card = cluster.inter_node;
  card.bandwidth_bytes_per_s = asked.bandwidth_bytes_per_s.value_or(card.bandwidth_bytes_per_s);
  card.latency_s = asked.latency_s.value_or(card.latency_s);
  std::string between;
  if (cluster.inter_node.bandwidth_bytes_per_s > 0) {
    if (asks_link) change_between(cluster, card, measured.costed.costs);
    between = fmt::format("collectives between nodes start as they do among {}{}", before,
                          asks_link ? ", at " + rate_text(card) : "");
  } else if (nodes > 1) {
    if (!asked.bandwidth_bytes_per_s || !asked.latency_s) {
      throw moe::InputError(fmt::format(
          "--set cluster.nodes={}: one node was measured: expected also --set "
          "cluster.inter_node.bandwidth_gbit_per_s=GBPS and --set cluster.inter_node.latency_s=S, "
          "of a network card",
          nodes));
    }
    if (!(cluster.intra_node.bandwidth_bytes_per_s > 0)) {
      throw moe::InputError(fmt::format(
          "--set cluster.nodes={}: no collective was measured: moe-bench collectives on two ranks "
          "or more measures them",
          nodes));
    }
    copy_from_inside(cluster, card, measured.costed.costs);
    between =
        fmt::format("collectives between nodes are those inside a node, at {}", rate_text(card));
  } else {
    throw moe::InputError(
        "--set cluster.inter_node: one node was measured: expected --set cluster.nodes=N too");
  }
  cluster.shared_processors = shared_by_all(cluster, nodes);
  cluster.nodes = nodes;
  cluster.inter_node = card;
  measured.remarks.push_back(fmt::format("{} node{} as the {} that {} measured: {}", nodes,
                                         nodes == 1 ? "" : "s", before,
                                         before == 1 ? "was" : "were", between));
  return measured;
}

}  // namespace tuner
