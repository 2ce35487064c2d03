#include "db/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

namespace db {
namespace {

namespace fs = std::filesystem;

/// As printf's %g writes it, so that "1" and "1.0" are one rate.
std::string rate_text(const std::string& gbps) {
  return fmt::format("{:g} Gbit/s", std::strtod(gbps.c_str(), nullptr));
}

/// The first line of a file; empty where there is none.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The folders in `folder`, by name; none where it cannot be read.
std::set<fs::path> entries_of(const fs::path& folder) {
  std::error_code ignored;
  std::set<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) entries.insert(entry.path());
  return entries;
}

}  // namespace

bool is_box_network(const std::string& network) {
  return network.starts_with("box ") || network.starts_with("paced box ");
}

std::string one_gpu_network(const options::InProcess& in_process) {
  const double nic_gbps = in_process.nodes() > 1 ? in_process.nic_gbps : 0;
  const double intra_gbps = in_process.ranks_per_node > 1 ? in_process.intra_gbps : 0;
  std::string rates;
  if (nic_gbps > 0) rates = fmt::format(": {:g} Gbit/s", nic_gbps);
  if (intra_gbps > 0) {
    rates += fmt::format("{}inside {:g} Gbit/s", rates.empty() ? ": " : ", ", intra_gbps);
  }
  if (in_process.copy_blocks > 0) {
    rates += fmt::format(", copies by {} blocks", in_process.copy_blocks);
  }
  const bool paced = nic_gbps > 0 || intra_gbps > 0;
  return (paced ? "paced, one GPU" : "one GPU, not paced") + rates;
}

bool is_one_gpu_network(const std::string& network) {
  return network.starts_with("paced, one GPU") || network.starts_with("one GPU, not paced");
}

std::optional<int> cards_per_node(const std::string& network) {
  if (is_one_gpu_network(network)) return 1;
  if (!is_box_network(network)) return std::nullopt;
  const std::string of_box = network.substr(network.find("box ") + 4);
  const std::size_t times = of_box.find(" x ");
  return times == std::string::npos ? 1 : std::max(1, std::atoi(of_box.c_str()));
}

bool are_other_networks(const std::string& first, const std::string& second, std::int64_t nodes) {
  if (first == second) return false;
  for (const std::string& one : {first, second}) {
    if (is_box_network(one) || is_one_gpu_network(one)) return true;
  }
  return !first.empty() && !second.empty() && nodes > 1;
}

std::string this_network() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"MOELAB_BOX_NIC_GBPS", "MOELAB_BOX_CARDS", "MOELAB_BOX_INTRA_GBPS",
                           "MOELAB_BOX_PACED", "MOELAB_BOX_CORE_SHARE"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return box_network(environment).value_or(card_network("/sys"));
}

std::optional<std::string> box_network(const std::map<std::string, std::string>& environment) {
  const auto nic = environment.find("MOELAB_BOX_NIC_GBPS");
  if (nic == environment.end() || nic->second.empty()) return std::nullopt;
  const bool paced = environment.contains("MOELAB_BOX_PACED");
  const auto cards = environment.find("MOELAB_BOX_CARDS");
  const bool several = cards != environment.end() && std::atoi(cards->second.c_str()) > 1;
  std::string network = (paced ? "paced box " : "box ") + (several ? cards->second + " x " : "") +
                        rate_text(nic->second);
  const auto intra = environment.find("MOELAB_BOX_INTRA_GBPS");
  if (intra != environment.end() && !intra->second.empty()) {
    network += ", inside " + rate_text(intra->second);
  }
  const auto share = environment.find("MOELAB_BOX_CORE_SHARE");
  if (share != environment.end() && !share->second.empty()) {
    network += fmt::format(", {:g} cores a node", std::strtod(share->second.c_str(), nullptr));
  }
  return network;
}

std::string card_network(const fs::path& system) {
  std::string network;
  const auto add = [&](const std::string& name, const std::string& rate) {
    network += fmt::format("{}{} {}", network.empty() ? "" : ", ", name, rate);
  };
  for (const fs::path& card : entries_of(system / "class" / "net")) {
    if (!fs::exists(card / "device") || first_line(card / "operstate") != "up") continue;
    const double megabits = std::strtod(first_line(card / "speed").c_str(), nullptr);
    if (megabits > 0) add(card.filename(), fmt::format("{:g} Gbit/s", megabits / 1000));
  }
  for (const fs::path& card : entries_of(system / "class" / "infiniband")) {
    for (const fs::path& port : entries_of(card / "ports")) {
      const std::string rate = first_line(port / "rate");
      if (!rate.empty()) add(card.filename(), rate);
    }
  }
  return network;
}

}  // namespace db
