#include "db/console/in_process.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "db/console/options.h"

namespace db::options {

std::string InProcess::fault(const std::string& device) const {
  if (ranks == 0) return "";
  if (device != "cuda") {
    return fmt::format("--ranks-in-process {}: its ranks share a GPU: expected --device cuda",
                       ranks);
  }
  if (ranks % ranks_per_node != 0) {
    return fmt::format(
        "--ranks-in-process {} --ranks-per-node {}: expected a number of ranks that divides into "
        "such nodes",
        ranks, ranks_per_node);
  }
  return "";
}

std::vector<std::string> InProcess::words() const {
  if (ranks == 0) return {};
  std::vector<std::string> all{"--ranks-in-process", fmt::to_string(ranks),
                               "--ranks-per-node",   fmt::to_string(ranks_per_node),
                               "--nic-gbps",         fmt::format("{}", nic_gbps),
                               "--intra-gbps",       fmt::format("{}", intra_gbps)};
  if (copy_blocks > 0) {
    all.insert(all.end(), {"--copy-blocks", fmt::to_string(copy_blocks)});
  }
  return all;
}

void add_in_process(CLI::App& app, InProcess& in_process, const std::string& group) {
  auto* ranks =
      app.add_option("--ranks-in-process", in_process.ranks,
                     "a cluster in one GPU: this many ranks are threads of one process that share "
                     "the GPU, each with its part of the multiprocessors; links between them are "
                     "paced")
          ->check(whole_number(1, InProcess::kMostRanks))
          ->type_name("N")
          ->group(group);
  for (const char* other : {"--ranks", "--launcher", "--hostfile"}) {
    if (app.get_option_no_throw(other) != nullptr) ranks->excludes(app.get_option(other));
  }
  const auto add = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str()->needs(ranks)->group(group);
  };
  add("--ranks-per-node", in_process.ranks_per_node,
      "how many ranks of --ranks-in-process are a node, which has one network card")
      ->check(whole_number(1, InProcess::kMostRanks))
      ->type_name("M");
  add("--nic-gbps", in_process.nic_gbps,
      "how many Gbit/s the card of each of these nodes carries in each direction; 0: as fast as "
      "the GPU copies")
      ->check(gigabits_per_second())
      ->type_name("GBPS");
  add("--intra-gbps", in_process.intra_gbps,
      "how many Gbit/s each rank's link inside its node carries in each direction; 0: as fast as "
      "the GPU copies")
      ->check(gigabits_per_second())
      ->type_name("GBPS");
  add("--copy-blocks", in_process.copy_blocks,
      "exchange by a kernel of N blocks, which takes multiprocessors as NCCL does; 0: by copies of "
      "the device")
      ->check(whole_number(0, 1024))
      ->type_name("N");
}

}  // namespace db::options
