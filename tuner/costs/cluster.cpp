#include "tuner/costs/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/toml_base.h"

namespace tuner {
namespace {

constexpr double kSeconds = 10;
constexpr double kLeastSeconds = 1e-9;
constexpr double kMostBytes = 1e15;
constexpr double kFewest = 1e-3;      ///< processors
constexpr double kLeastSpeed = 1e-3;  ///< of an op beside others
constexpr std::int64_t kMostNodes = 1'000'000;

Link read_link(const moe::InputObject& table) {
  Link link;
  link.bandwidth_bytes_per_s =
      table.number("bandwidth_gbit_per_s", 1e-6, 1e9, "Gbit/s, from 1e-6 to 1e9") * 1e9 / 8;
  link.latency_s = table.number_or("latency_s", 0, 0, kSeconds, "seconds, from 0 to 10");
  return link;
}

/// points = [[1024, 3.1e-4], [65536, 3.6e-4]]: bytes and seconds
LinearFit read_points(const moe::InputValue& list) {
  constexpr std::string_view expected = "a size in bytes and its seconds, as in [1024, 3.1e-4]";
  std::vector<SizeTime> points;
  for (const moe::InputValue& entry : list.list("a list of sizes and their times")) {
    const std::vector<moe::InputValue> pair = entry.list(expected);
    if (pair.size() != 2) entry.fail(expected);
    const SizeTime point{pair[0].number(0, kMostBytes, "bytes, from 0 to 1e15"),
                         pair[1].number(kLeastSeconds, kSeconds, "seconds, from 1e-9 to 10")};
    if (!points.empty() && point.units <= points.back().units) pair[0].refuse("sizes must ascend");
    if (!points.empty() && point.seconds < points.back().seconds) {
      pair[1].refuse("a larger size must not take less time");
    }
    points.push_back(point);
  }
  if (points.size() < 2) list.fail("two points or more");
  return fit_points(std::move(points), "byte");
}

/// `link`: that of communication; empty for computation.
LinearFit read_line_or_points(const moe::InputObject& table, std::string_view link) {
  if (const auto points = table.optional_member("points")) {
    if (link.empty()) points->refuse("points are of communication: name its link");
    return read_points(*points);
  }
  LinearFit fit;
  fit.alpha_s = table.number("alpha_s", 0, kSeconds, "seconds, from 0 to 10");
  if (table.has("beta_s_per_flop") == table.has("beta_s_per_byte")) {
    table.refuse("beta_s_per_byte", "expected either beta_s_per_byte or beta_s_per_flop");
  }
  fit.unit = table.has("beta_s_per_flop") ? "flop" : "byte";
  fit.beta_s_per_unit = table.number(fit.unit == "flop" ? "beta_s_per_flop" : "beta_s_per_byte", 0,
                                     1, "seconds per unit, from 0 to 1");
  fit.r2 = table.number_or("r2", 1, -1e9, 1, "at most 1");
  if (const auto samples = table.optional_member("samples")) {
    fit.samples = static_cast<int>(samples->integer(0, 1'000'000'000));
  }
  return fit;
}

/// The fit of an op, or, in tables of their own, its fits on both links.
void read_fit(const moe::InputObject& table, const std::string& op, CostModel& costs) {
  static const std::vector<std::string_view> kLinks{"inter_node", "intra_node"};
  bool by_link = false;
  for (const std::string_view link : kLinks) {
    if (!table.has(link)) continue;
    by_link = true;
    costs.fits[link_key(op, link)] = read_line_or_points(table.object(link, "a fit"), link);
  }
  if (by_link) return;
  const auto named = table.optional_member("link");
  const std::string_view link = named ? kLinks[named->one_of(kLinks)] : std::string_view();
  costs.fits[link.empty() ? op : link_key(op, link)] = read_line_or_points(table, link);
}

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

CostedCluster load_cluster(const std::filesystem::path& path,
                           const std::vector<std::string>& settings) {
  const moe::InputDocument document = moe::read_toml_with(path, settings);
  const moe::InputObject root = document.object();
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
  if (const auto memory = root.optional_member("memory")) cluster.memory_bytes = memory->bytes();
  if (root.has("processors")) {
    const double seats = root.number("processors", kFewest, kMostNodes, "cores, above 0");
    cluster.shared_processors = {{seats, first_ranks(cluster.nodes * cluster.ranks_per_node)}};
  }
  if (cluster.nodes > 1 || root.has("inter_node")) {
    cluster.inter_node = read_link(root.object("inter_node", "a table of a node's network card"));
  }
  if (cluster.ranks_per_node > 1 || root.has("intra_node")) {
    cluster.intra_node = read_link(root.object("intra_node", "a table of a rank's link"));
  }

  CostModel& costs = result.costs;
  costs.device = cluster.device;
  if (root.has("fit")) {
    const moe::InputObject fits = root.object("fit", "tables of fits");
    for (const std::string& op : fits.keys()) read_fit(fits.object(op, "a fit"), op, costs);
  }
  if (root.has("interference")) {
    read_speeds(root.object("interference", "a table of factors"), kLeastSpeed, 1,
                "a speed from 0.001 to 1", costs.interference);
  }
  document.no_other_keys();
  return result;
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

moe::Groups groups_of(const Cluster& cluster, const moe::Layout& layout) {
  const int ranks = moe::rank_count(layout);
  if (ranks > cluster.nodes * cluster.ranks_per_node) {
    throw moe::Refusal(
        fmt::format("cluster {}", cluster.name),
        fmt::format("{} ranks asked for, it has {} nodes of {}", ranks, cluster.nodes,
                    cluster.ranks_per_node),
        fmt::format("expected at most --ranks {}", cluster.nodes * cluster.ranks_per_node));
  }
  std::vector<int> node_of;
  for (int rank = 0; rank < ranks; ++rank) node_of.push_back(rank / cluster.ranks_per_node);
  return moe::make_groups(layout, std::move(node_of));
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
  return nlohmann::json{{"name", cluster.name},
                        {"device", cluster.device},
                        {"nodes", cluster.nodes},
                        {"ranks_per_node", cluster.ranks_per_node},
                        {"inter_node", link(cluster.inter_node)},
                        {"intra_node", link(cluster.intra_node)},
                        {"memory_bytes", cluster.memory_bytes},
                        {"shared_processors", shared}}
      .dump();
}

Cluster cluster_from_json(std::string_view text) {
  const moe::InputDocument document = moe::parse_json(text, "cluster");
  const moe::InputObject json = document.object();
  const auto link = [&](const char* key) {
    const moe::InputObject value = json.object(key);
    // Clusters of one node or one rank a node have no such link.
    return Link{value.number("bandwidth_bytes_per_s", 0, 1e18, "bytes per second, 0 or more"),
                value.number("latency_s", 0, kSeconds, "seconds, from 0 to 10")};
  };
  Cluster cluster;
  cluster.name = json.text("name");
  cluster.device = json.text("device");
  cluster.nodes = static_cast<int>(json.integer("nodes", 1, kMostNodes));
  cluster.ranks_per_node = static_cast<int>(json.integer("ranks_per_node", 1, kMostNodes));
  cluster.inter_node = link("inter_node");
  cluster.intra_node = link("intra_node");
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
