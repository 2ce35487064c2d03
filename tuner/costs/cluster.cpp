#include "tuner/costs/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/named_file.h"
#include "moe/input/toml_base.h"
#include "tuner/costs/cluster_fits.h"
#include "tuner/costs/measured_cards.h"

namespace tuner {
namespace {

constexpr double kSeconds = 10;
constexpr double kFewest = 1e-3;      ///< processors
constexpr double kLeastSpeed = 1e-3;  ///< of an op beside others
constexpr std::int64_t kMostNodes = 1'000'000;
/// With what settings begin that change fits, or links and nodes that fits follow.
constexpr std::array<std::string_view, 4> kKeysOfFits{
    "cluster.fit.", "cluster.inter_node.", "cluster.intra_node.", "cluster.ranks_per_node="};

Link read_link(const moe::InputObject& table) {
  Link link;
  link.bandwidth_bytes_per_s =
      table.number("bandwidth_gbit_per_s", 1e-6, 1e9, "Gbit/s, from 1e-6 to 1e9") * 1e9 / 8;
  link.latency_s = table.number_or("latency_s", 0, 0, kSeconds, "seconds, from 0 to 10");
  return link;
}

/// Of a node that has several. A rank that has more cards than one, or all of its node, has one as
/// fast as they are together.
void read_cards(const moe::InputObject& table, Cluster& cluster) {
  const int cards = table.has("cards_per_node")
                        ? static_cast<int>(table.integer("cards_per_node", 1, kMostNodes))
                        : 1;
  const int ranks = cluster.ranks_per_node;
  if (cards % ranks != 0 && ranks % cards != 0) {
    table.refuse("cards_per_node",
                 fmt::format("{} cards of {} ranks: expected a divisor or a multiple of "
                             "ranks_per_node",
                             cards, ranks));
  }
  const auto use = table.optional_member("card");
  enum Use : std::size_t { own, all, of_receiver };
  const std::size_t used = use ? use->one_of({"own", "shared", "receiver"}) : own;
  cluster.cards_per_node = used == all ? 1 : std::min(cards, ranks);
  cluster.receivers_card = used == of_receiver;
  if (cluster.receivers_card && cluster.cards_per_node == 1) {
    use->refuse("\"receiver\" where all ranks of a node use one card: expected cards_per_node > 1");
  }
  cluster.inter_node.bandwidth_bytes_per_s *= cards / cluster.cards_per_node;
}

/// Innermost first: every block is in one of the next level.
void check_level(const NetworkLevel& level, const NetworkLevel* below, const Cluster& cluster,
                 const auto& refuse) {
  const auto of_nodes = [&](const NetworkLevel& one) {
    return fmt::format("{} of {} nodes", one.rails ? "rails" : "blocks", one.nodes);
  };
  if (cluster.nodes < 2) refuse("a level above one node: expected several nodes");
  if (level.rails && cluster.cards_per_node == 1) {
    refuse("rails of nodes in which all ranks use one card: expected cards_per_node > 1");
  }
  if (cluster.nodes % level.nodes != 0) {
    refuse(fmt::format("{}: expected a divisor of {} nodes", of_nodes(level), cluster.nodes));
  }
  if (!level.rails && level.nodes == cluster.nodes) {
    refuse(fmt::format("{}, and no others: expected fewer than all nodes", of_nodes(level)));
  }
  if (level.rails && level.nodes == 1) refuse("rails of 1 node: expected several nodes");
  if (below == nullptr) return;
  const bool lies_within = level.nodes % below->nodes == 0 && (below->rails || !level.rails);
  const bool grows = level.nodes > below->nodes || level.rails != below->rails;
  if (!lies_within || !grows) {
    refuse(fmt::format("{} above {}: expected blocks that consist of several of those below",
                       of_nodes(level), of_nodes(*below)));
  }
}

void read_levels(const moe::InputObject& root, Cluster& cluster) {
  if (!root.has("level")) return;
  for (const moe::InputValue& entry : root.list("level", "tables [[level]]")) {
    const moe::InputObject table = entry.object("a table of a level");
    if (cluster.levels.size() == moe::kMostLevels) {
      entry.refuse(fmt::format("a level too many: expected at most {}", moe::kMostLevels));
    }
    NetworkLevel level;
    level.name = table.text("name");
    const auto rails = table.optional_member("rails");
    level.rails = rails && rails->boolean();
    const bool all = level.rails && !table.has("nodes");
    level.nodes = all ? cluster.nodes : static_cast<int>(table.integer("nodes", 1, kMostNodes));
    level.uplink = read_link(table);
    const NetworkLevel* below = cluster.levels.empty() ? nullptr : &cluster.levels.back();
    check_level(level, below, cluster, [&](const std::string& message) {
      table.refuse(all ? "rails" : "nodes", message);
    });
    cluster.levels.push_back(std::move(level));
  }
}

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// The link that fits between nodes, or inside them, are of. Between nodes that is the share of a
/// rank of all cards of its node: the same network may be written as one card.
Link link_of_fits(const Cluster& cluster, Occupation link) {
  if (link == Occupation::intra_node) return cluster.intra_node;
  return {
      cluster.inter_node.bandwidth_bytes_per_s * cluster.cards_per_node / cluster.ranks_per_node,
      cluster.inter_node.latency_s};
}

/// Where a link is not that of a file below, the fits of this file follow. Those that stand above
/// it stay as they are. `as_in_file`: the fits that count, as nodes of the file count bytes.
void follow_links(const CostedCluster& file, const CostModel& as_in_file, CostedCluster& changed) {
  for (auto& [key, fit] : changed.costs.fits) {
    const auto before = file.costs.fits.find(key);
    if (before == file.costs.fits.end() || !(before->second == as_in_file.fits.at(key))) continue;
    for (const Occupation link : {Occupation::inter_node, Occupation::intra_node}) {
      if (!key.ends_with(link_key("", name_of(link)))) continue;
      const Link old = link_of_fits(file.cluster, link), now = link_of_fits(changed.cluster, link);
      if (!(old.bandwidth_bytes_per_s > 0)) continue;
      fit = before->second;
      if (now != old) {
        // The time of bytes is told from that of one card.
        const Link card = link == Occupation::inter_node ? file.cluster.inter_node : old;
        const double rate = card.bandwidth_bytes_per_s;
        const Link then{rate * now.bandwidth_bytes_per_s / old.bandwidth_bytes_per_s,
                        now.latency_s};
        fit = over_changed_link(fit, card, then);
      }
      recount_ring(key, changed.cluster, file.cluster.cards_per_node, fit);
    }
  }
}

/// Fits that a file measured and that are others now are no longer called measured, unless the list
/// is another one, too.
void keep_measured(const CostModel& file, CostModel& costs) {
  if (costs.measured != file.measured) return;
  std::erase_if(costs.measured,
                [&](const std::string& key) { return !(costs.fits.at(key) == file.fits.at(key)); });
}

const moe::FindBase& base_clusters() {
  static const moe::FindBase find = moe::bases_in("experiments/clusters");
  return find;
}

/// `below`: what the settings and the file stand on, the nearest first.
CostedCluster read_cluster(const std::filesystem::path& path,
                           const std::vector<std::string>& settings,
                           const std::vector<CostedCluster>& below) {
  const moe::InputDocument document = moe::read_toml_on_base(path, base_clusters(), settings, 1);
  const moe::InputObject root = document.object();
  root.has("base");  // followed already
  CostedCluster result;
  Cluster& cluster = result.cluster;
  const auto name = root.optional_member("name");
  cluster.name = name ? name->text() : path.stem().string();
  cluster.device = root.member("device").one_of({"cpu", "cuda"}) == 0 ? "cpu" : "cuda";
  cluster.nodes = static_cast<int>(root.integer("nodes", 1, kMostNodes));
  cluster.ranks_per_node = static_cast<int>(root.integer("ranks_per_node", 1, kMostNodes));
  if (std::int64_t{cluster.nodes} * cluster.ranks_per_node > kMostNodes) {
    root.member("nodes").fail(fmt::format("at most {} ranks on all nodes together", kMostNodes));
  }
  if (const auto memory = root.optional_member("memory")) {
    cluster.memory_bytes = memory->bytes();
    if (cluster.memory_bytes == 0) memory->fail("bytes above 0; where they are not known, no key");
  }
  if (root.has("processors")) {
    const double seats = root.number("processors", kFewest, kMostNodes, "cores, above 0");
    cluster.shared_processors = {{seats, first_ranks(cluster.nodes * cluster.ranks_per_node)}};
  }
  if (cluster.nodes > 1 || root.has("inter_node")) {
    const moe::InputObject cards = root.object("inter_node", "a table of a network card");
    cluster.inter_node = read_link(cards);
    read_cards(cards, cluster);
  }
  read_levels(root, cluster);
  if (cluster.ranks_per_node > 1 || root.has("intra_node")) {
    const moe::InputObject table = root.object("intra_node", "a table of a rank's link");
    cluster.intra_node = read_link(table);
    const auto wiring = table.optional_member("wiring");
    cluster.mesh = wiring && wiring->one_of({"switch", "mesh"}) == 1;
  }

  CostModel& costs = result.costs;
  costs.device = cluster.device;
  if (root.has("fit")) {
    std::vector<std::string> links;
    for (const char* link : {"inter_node", "intra_node"}) {
      if (root.has(link)) links.emplace_back(link);
    }
    const moe::InputObject fits = root.object("fit", "tables of fits");
    read_fits(fits, links, cluster, costs);
    for (const CostedCluster& file : below) {
      CostModel as_in_file;
      read_fits(fits, links, file.cluster, as_in_file);
      follow_links(file, as_in_file, result);
    }
    check_rates(fits, cluster, costs);
  }
  if (root.has("measured")) {
    for (const moe::InputValue& key : root.list("measured", "a list of fits")) {
      if (!costs.fits.contains(key.text())) {
        key.fail("a fit of this file, as gemm or all_to_all/inter_node");
      }
      costs.measured.insert(key.text());
    }
    if (!below.empty()) keep_measured(below.front().costs, costs);
  }
  if (root.has("interference")) {
    read_speeds(root.object("interference", "a table of factors"), kLeastSpeed, 1,
                "a speed from 0.001 to 1", costs.interference);
  }
  document.no_other_keys();
  return result;
}

std::vector<CostedCluster> with_bases(const std::filesystem::path& path);

/// The clusters that a file builds on, the nearest first.
std::vector<CostedCluster> bases_of(const std::filesystem::path& path) {
  const moe::InputDocument document = moe::read_toml_on_base(path, base_clusters());
  const auto base = document.object().optional_member("base");
  if (!base) return {};
  return with_bases(base_clusters()(base->text(), path));
}

/// The same, and that of the file before them.
std::vector<CostedCluster> with_bases(const std::filesystem::path& path) {
  std::vector<CostedCluster> files = bases_of(path);
  files.insert(files.begin(), read_cluster(path, {}, files));
  return files;
}

}  // namespace

CostedCluster load_cluster(const std::filesystem::path& path,
                           const std::vector<std::string>& settings) {
  const bool changes_fits = std::ranges::any_of(settings, [](const std::string& setting) {
    return std::ranges::any_of(kKeysOfFits,
                               [&](std::string_view key) { return setting.starts_with(key); });
  });
  return read_cluster(path, settings, changes_fits ? with_bases(path) : bases_of(path));
}

std::vector<SharedProcessors> contended_processors(const std::vector<SharedProcessors>& shared,
                                                   int ranks) {
  std::vector<SharedProcessors> contended = shared;
  for (SharedProcessors& one : contended) {
    std::erase_if(one.ranks, [&](int rank) { return rank >= ranks; });
  }
  std::erase_if(contended, [](const SharedProcessors& one) {
    return one.seats >= static_cast<double>(one.ranks.size());
  });
  return contended;
}

bool ranks_contend(const std::vector<SharedProcessors>& shared, int ranks) {
  return !contended_processors(shared, ranks).empty();
}

double processor_share(const SharedProcessors& shared, int computing) {
  return std::min(1.0, shared.seats / computing);
}

void expect_ranks(const Cluster& cluster, int ranks) {
  const int all = cluster.nodes * cluster.ranks_per_node;
  if (ranks <= all) return;
  throw moe::Refusal(fmt::format("cluster {}", cluster.name),
                     fmt::format("{} ranks asked for, it has {} nodes of {}", ranks, cluster.nodes,
                                 cluster.ranks_per_node),
                     fmt::format("expected at most --ranks {}", all));
}

moe::Groups groups_of(const Cluster& cluster, const moe::Layout& layout) {
  const int ranks = moe::rank_count(layout);
  expect_ranks(cluster, ranks);
  const int ranks_of_card = cluster.ranks_per_node / cluster.cards_per_node;
  std::vector<int> node_of, card_of;
  for (int rank = 0; rank < ranks; ++rank) {
    node_of.push_back(rank / cluster.ranks_per_node);
    card_of.push_back(rank / ranks_of_card);
  }
  moe::Groups groups = moe::make_groups(layout, std::move(node_of));
  if (cluster.cards_per_node > 1) groups.card_of = std::move(card_of);
  for (int rank = 0; rank < ranks && cluster.receivers_card; ++rank) {
    groups.place_of.push_back(rank % cluster.ranks_per_node);
  }
  for (const NetworkLevel& one : cluster.levels) {
    moe::Level& level = groups.levels.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) {
      const int block = rank / cluster.ranks_per_node / one.nodes;
      const int card = rank % cluster.ranks_per_node / ranks_of_card;
      level.block_of.push_back(one.rails ? block * cluster.cards_per_node + card : block);
    }
  }
  return groups;
}

double bytes_per_s_of_pair(const Cluster& cluster) {
  const int others = cluster.mesh ? std::max(cluster.ranks_per_node - 1, 1) : 1;
  return cluster.intra_node.bandwidth_bytes_per_s / others;
}

std::string to_json(const Cluster& cluster) {
  const auto link = [](const Link& value) {
    return nlohmann::json{{"bandwidth_bytes_per_s", value.bandwidth_bytes_per_s},
                          {"latency_s", value.latency_s}};
  };
  nlohmann::json shared = nlohmann::json::array();
  for (const SharedProcessors& one : cluster.shared_processors) {
    shared.push_back({{"seats", one.seats}, {"ranks", one.ranks}});
  }
  nlohmann::json levels = nlohmann::json::array();
  for (const NetworkLevel& level : cluster.levels) {
    levels.push_back({{"name", level.name},
                      {"nodes", level.nodes},
                      {"rails", level.rails},
                      {"uplink", link(level.uplink)}});
  }
  return nlohmann::json{{"name", cluster.name},
                        {"device", cluster.device},
                        {"nodes", cluster.nodes},
                        {"ranks_per_node", cluster.ranks_per_node},
                        {"cards_per_node", cluster.cards_per_node},
                        {"receivers_card", cluster.receivers_card},
                        {"inter_node", link(cluster.inter_node)},
                        {"intra_node", link(cluster.intra_node)},
                        {"mesh", cluster.mesh},
                        {"levels", levels},
                        {"memory_bytes", cluster.memory_bytes},
                        {"shared_processors", shared}}
      .dump();
}

Cluster cluster_from_json(std::string_view text) {
  const moe::InputDocument document = moe::parse_json(text, "cluster");
  const moe::InputObject json = document.object();
  const auto link_of = [](const moe::InputObject& from, const char* key) {
    const moe::InputObject value = from.object(key);
    // Clusters of one node or one rank a node have no such link.
    return Link{value.number("bandwidth_bytes_per_s", 0, 1e18, "bytes per second, 0 or more"),
                value.number("latency_s", 0, kSeconds, "seconds, from 0 to 10")};
  };
  const auto link = [&](const char* key) { return link_of(json, key); };
  Cluster cluster;
  cluster.name = json.text("name");
  cluster.device = json.text("device");
  cluster.nodes = static_cast<int>(json.integer("nodes", 1, kMostNodes));
  cluster.ranks_per_node = static_cast<int>(json.integer("ranks_per_node", 1, kMostNodes));
  if (json.has("cards_per_node")) {
    cluster.cards_per_node =
        static_cast<int>(json.integer("cards_per_node", 1, cluster.ranks_per_node));
    if (cluster.ranks_per_node % cluster.cards_per_node != 0) {
      json.refuse("cards_per_node", "expected a divisor of ranks_per_node");
    }
  }
  if (json.has("receivers_card")) {
    cluster.receivers_card = json.member("receivers_card").boolean();
  }
  cluster.inter_node = link("inter_node");
  cluster.intra_node = link("intra_node");
  if (json.has("mesh")) cluster.mesh = json.member("mesh").boolean();
  if (json.has("levels")) {
    for (const moe::InputValue& entry : json.list("levels")) {
      const moe::InputObject one = entry.object("a level above the nodes");
      NetworkLevel level{one.text("name"), static_cast<int>(one.integer("nodes", 1, cluster.nodes)),
                         one.member("rails").boolean(), link_of(one, "uplink")};
      const NetworkLevel* below = cluster.levels.empty() ? nullptr : &cluster.levels.back();
      check_level(level, below, cluster,
                  [&](const std::string& message) { one.refuse("nodes", message); });
      cluster.levels.push_back(std::move(level));
    }
    if (cluster.levels.size() > moe::kMostLevels) json.refuse("levels", "too many levels");
  }
  cluster.memory_bytes = json.integer("memory_bytes", 0);
  if (json.has("shared_processors")) {
    for (const moe::InputValue& entry : json.list("shared_processors", "a list of ranks' seats")) {
      const moe::InputObject one = entry.object("ranks and their seats");
      SharedProcessors& shared = cluster.shared_processors.emplace_back();
      shared.seats = one.number("seats", kFewest, kMostNodes, "cores, above 0");
      for (const moe::InputValue& rank : one.list("ranks", "a list of ranks")) {
        shared.ranks.push_back(static_cast<int>(rank.integer(0, kMostNodes)));
      }
    }
  }
  document.no_other_keys();
  return cluster;
}

}  // namespace tuner
