#include "tuner/costs/cluster.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "moe/errors.h"

namespace tuner {
namespace {

/// A table of a file, whose every access says where it stands and what was expected there.
class Section {
 public:
  Section(const toml::table& table, std::string path, std::string prefix)
      : table_(table), path_(std::move(path)), prefix_(std::move(prefix)) {}

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    const toml::node* node = table_.get(key);
    const auto line = (node ? node->source() : table_.source()).begin.line;
    throw moe::InputError(fmt::format("{}:{}: {}{}: {}", path_, line, prefix_, key, message));
  }

  double number(const std::string& key, double least, double most, const char* expected) {
    const toml::node& node = required(key, expected);
    const auto value = node.value<double>();
    if (!value || !(*value >= least) || !(*value <= most)) {
      fail(key, fmt::format("expected {}, got {}", expected, text_of(node)));
    }
    return *value;
  }
  double number_or(const std::string& key, double fallback, double least, double most,
                   const char* expected) {
    known_.insert(key);
    return table_.get(key) ? number(key, least, most, expected) : fallback;
  }
  int count(const std::string& key) {
    const char* expected = "a whole number of 1 or more";
    const toml::node& node = required(key, expected);
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > 1'000'000) {
      fail(key, fmt::format("expected {}, got {}", expected, text_of(node)));
    }
    return static_cast<int>(*value);
  }
  std::string text(const std::string& key, const std::set<std::string>& choices,
                   std::optional<std::string> fallback = {}) {
    const std::string expected =
        choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(choices, ", "));
    known_.insert(key);
    if (!table_.get(key) && fallback) return *fallback;
    const toml::node& node = required(key, expected.c_str());
    const auto value = node.value_exact<std::string>();
    if (!value || (!choices.empty() && !choices.contains(*value))) {
      fail(key, fmt::format("expected {}, got {}", expected, text_of(node)));
    }
    return *value;
  }
  std::int64_t bytes_or_zero(const std::string& key) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (!node) return 0;
    const char* expected = "bytes: a whole number, or a text like \"48G\" (powers of 1024)";
    if (const auto value = node->value_exact<std::int64_t>(); value && *value >= 0) return *value;
    if (const auto value = node->value_exact<std::string>()) {
      double number = 0;
      std::string suffix;
      std::istringstream stream(*value);
      if (stream >> number && number >= 0) {
        stream >> suffix;
        if (suffix.empty()) return static_cast<std::int64_t>(number);
        const auto power = std::string("KMGT").find(suffix);
        if (suffix.size() == 1 && power != std::string::npos) {
          for (std::size_t i = 0; i <= power; ++i) number *= 1024;
          return static_cast<std::int64_t>(number);
        }
      }
    }
    fail(key, fmt::format("expected {}, got {}", expected, text_of(*node)));
  }
  bool has(const std::string& key) {
    known_.insert(key);
    return table_.get(key) != nullptr;
  }
  Section section(const std::string& key, const char* expected) {
    const toml::node& node = required(key, expected);
    if (!node.is_table()) fail(key, fmt::format("expected {}, got {}", expected, text_of(node)));
    return {*node.as_table(), path_, prefix_ + key + "."};
  }
  std::vector<std::string> keys() {
    std::vector<std::string> result;
    for (const auto& [key, node] : table_) {
      result.emplace_back(key.str());
      known_.insert(result.back());
    }
    return result;
  }
  void refuse_unknown() const {
    for (const auto& [key, node] : table_) {
      if (const std::string name(key.str()); !known_.contains(name)) {
        fail(name, fmt::format("unknown key; expected one of {}", fmt::join(known_, ", ")));
      }
    }
  }

 private:
  const toml::node& required(const std::string& key, const char* expected) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (!node) fail(key, fmt::format("missing; expected {}", expected));
    return *node;
  }
  static std::string text_of(const toml::node& node) {
    if (node.is_table()) return "a table";
    if (node.is_array()) return "an array";
    std::ostringstream stream;
    node.visit([&](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) stream << value;
    });
    return stream.str();
  }

  const toml::table& table_;
  std::string path_;
  std::string prefix_;
  std::set<std::string> known_;
};

Link read_link(Section section) {
  Link link;
  link.bandwidth_bytes_per_s =
      section.number("bandwidth_gbit_per_s", 1e-6, 1e9, "Gbit/s, more than 0") * 1e9 / 8;
  link.latency_s = section.number_or("latency_s", 0, 0, 10, "seconds, 0 or more");
  section.refuse_unknown();
  return link;
}

void read_fit(Section section, const std::string& op, CostModel& costs) {
  LinearFit fit;
  fit.alpha_s = section.number("alpha_s", 0, 10, "seconds, 0 or more");
  const std::string link = section.text("link", {"inter_node", "intra_node"}, "");
  if (section.has("beta_s_per_flop") == section.has("beta_s_per_byte")) {
    section.fail("beta_s_per_byte", "expected either beta_s_per_byte or beta_s_per_flop");
  }
  fit.unit = section.has("beta_s_per_flop") ? "flop" : "byte";
  fit.beta_s_per_unit = section.number(fit.unit == "flop" ? "beta_s_per_flop" : "beta_s_per_byte",
                                       0, 1, "seconds per unit, 0 or more");
  fit.r2 = section.number_or("r2", 1, -1e9, 1, "at most 1");
  fit.samples = static_cast<int>(section.number_or("samples", 0, 0, 1e9, "a number of samples"));
  section.refuse_unknown();
  costs.fits[link.empty() ? op : link_key(op, link)] = fit;
}

}  // namespace

CostedCluster load_cluster(const std::filesystem::path& path) {
  toml::table table;
  try {
    table = toml::parse_file(path.string());
  } catch (const toml::parse_error& error) {
    throw moe::InputError(
        fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  }
  Section root(table, path.string(), "");
  CostedCluster result;
  Cluster& cluster = result.cluster;
  cluster.name = root.text("name", {}, path.stem().string());
  cluster.device = root.text("device", {"cpu", "cuda"});
  cluster.nodes = root.count("nodes");
  cluster.ranks_per_node = root.count("ranks_per_node");
  cluster.memory_bytes = root.bytes_or_zero("memory");
  if (cluster.nodes > 1 || root.has("inter_node")) {
    cluster.inter_node = read_link(root.section("inter_node", "a table of a node's network card"));
  }
  if (cluster.ranks_per_node > 1 || root.has("intra_node")) {
    cluster.intra_node = read_link(root.section("intra_node", "a table of a rank's link"));
  }

  CostModel& costs = result.costs;
  costs.device = cluster.device;
  if (root.has("fit")) {
    Section fits = root.section("fit", "tables of fits");
    for (const std::string& op : fits.keys()) read_fit(fits.section(op, "a fit"), op, costs);
  }
  if (root.has("interference")) {
    Section slow = root.section("interference", "a table of factors");
    const char* expected = "a speed in (0, 1]";
    Interference& factors = costs.interference;
    factors.computation_beside_communication =
        slow.number_or("computation_beside_communication", 1, 1e-3, 1, expected);
    factors.computation_beside_computation =
        slow.number_or("computation_beside_computation", 1, 1e-3, 1, expected);
    factors.communication_beside_computation =
        slow.number_or("communication_beside_computation", 1, 1e-3, 1, expected);
    slow.refuse_unknown();
  }
  root.refuse_unknown();
  return result;
}

moe::Groups groups_of(const Cluster& cluster, int ranks, int expert_ranks) {
  if (ranks > cluster.nodes * cluster.ranks_per_node) {
    throw std::invalid_argument(fmt::format("cluster {}: {} ranks asked for, it has {} nodes of {}",
                                            cluster.name, ranks, cluster.nodes,
                                            cluster.ranks_per_node));
  }
  std::vector<int> node_of;
  for (int rank = 0; rank < ranks; ++rank) node_of.push_back(rank / cluster.ranks_per_node);
  return moe::make_groups(ranks, expert_ranks, std::move(node_of));
}

std::string to_json(const Cluster& cluster) {
  const auto link = [](const Link& value) {
    return nlohmann::json{{"bandwidth_bytes_per_s", value.bandwidth_bytes_per_s},
                          {"latency_s", value.latency_s}};
  };
  return nlohmann::json{{"name", cluster.name},
                        {"device", cluster.device},
                        {"nodes", cluster.nodes},
                        {"ranks_per_node", cluster.ranks_per_node},
                        {"inter_node", link(cluster.inter_node)},
                        {"intra_node", link(cluster.intra_node)},
                        {"memory_bytes", cluster.memory_bytes}}
      .dump();
}

Cluster cluster_from_json(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    const auto link = [](const nlohmann::json& value) {
      return Link{value.at("bandwidth_bytes_per_s"), value.at("latency_s")};
    };
    Cluster cluster;
    cluster.name = json.at("name");
    cluster.device = json.at("device");
    cluster.nodes = json.at("nodes");
    cluster.ranks_per_node = json.at("ranks_per_node");
    cluster.inter_node = link(json.at("inter_node"));
    cluster.intra_node = link(json.at("intra_node"));
    cluster.memory_bytes = json.at("memory_bytes");
    return cluster;
  } catch (const nlohmann::json::exception& error) {
    throw moe::InputError(fmt::format("cluster: {}", error.what()));
  }
}

}  // namespace tuner
