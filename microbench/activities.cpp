#include "microbench/activities.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "microbench/addition.h"
#include "microbench/collectives/collectives.h"
#include "microbench/copies.h"
#include "moe/rows/expert_nodes.h"

namespace microbench {
namespace {

/// The ranks with which a rank communicates between nodes and inside its own, itself included.
/// Alone where there are no others.
struct Peers {
  std::vector<int> between, inside;
};

Peers peers_of(int rank, const std::vector<int>& node) {
  const int ranks = static_cast<int>(node.size());
  const moe::Groups groups = moe::make_groups(ranks, ranks, node);
  Peers peers{moe::members(groups, moe::GroupKind::expert_across, rank),
              moe::members(groups, moe::GroupKind::expert_node, rank)};
  for (const std::vector<int>& others : moe::expert_nodes(groups, rank).members) {
    if (others.size() != peers.inside.size()) return {{rank}, {rank}};
  }
  return peers;
}

bool is_collective(const std::string& name) { return name == "inter_node" || name == "intra_node"; }

const std::vector<int>& group_of(const Peers& peers, const std::string& name) {
  return name == "inter_node" ? peers.between : peers.inside;
}

/// Where an activity's buffers end in the arena.
std::int64_t end_of_buffers(const Bench& bench, const std::string& name,
                            const ActivitySizes& sizes) {
  if (name == "computation") return arena_end(bench, sizes.linear);
  if (name == "memory_bound") return arena_end(bench, addition_bytes(bench.dtype, sizes.bytes));
  return arena_end(bench, std::vector{sizes.bytes, sizes.bytes});
}

void say_left_out(const Bench& bench, const std::string& name, int nodes) {
  if (bench.world.rank != 0) return;
  const bool between = name == "inter_node";
  spdlog::warn(
      "interference: {} is left out: {} {} on {} {}; expected {} with equally many on each ({})",
      name, bench.world.size, bench.world.size == 1 ? "rank" : "ranks", nodes,
      nodes == 1 ? "node" : "nodes",
      between ? "at least two nodes" : "at least two ranks on each node",
      between ? "experiments/cluster-in-a-box makes several" : "--ranks says how many");
}

}  // namespace

const std::vector<std::string>& activity_names() {
  static const std::vector<std::string> names = {"computation", "memory_bound", "inter_node",
                                                 "intra_node", "copy"};
  return names;
}

std::vector<std::string> possible_activities(const Bench& bench,
                                             const std::vector<std::string>& names,
                                             const std::vector<int>& node) {
  const Peers peers = peers_of(bench.world.rank, node);
  std::vector<std::string> possible;
  for (const std::string& name : activity_names()) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    if (is_collective(name) && group_of(peers, name).size() < 2) {
      say_left_out(bench, name, *std::max_element(node.begin(), node.end()) + 1);
      continue;
    }
    possible.push_back(name);
  }
  return possible;
}

std::vector<std::unique_ptr<Activity>> make_activities(const Bench& bench,
                                                       const std::vector<std::string>& possible,
                                                       const ActivitySizes& sizes,
                                                       const std::vector<int>& node) {
  std::vector<std::unique_ptr<Activity>> made;
  std::int64_t begin = bench.arena_begin;
  const Peers peers = peers_of(bench.world.rank, node);
  for (const std::string& name : possible) {
    auto activity = std::make_unique<Activity>();
    activity->name = name;
    activity->collective = is_collective(name);
    if (activity->collective) {
      activity->world = bench.world.split(group_of(peers, name));
      activity->measured = bench.measured.split(group_of(peers, name));
    }
    activity->bench = std::make_unique<Bench>(
        Bench{activity->collective ? *activity->world : bench.world,
              activity->collective ? *activity->measured : bench.measured, bench.backend,
              bench.dtype, bench.device, bench.sampling, bench.enqueues,
              name == "intra_node" ? moe::Stream::intra_node : moe::Stream::inter_node, begin});
    begin = end_of_buffers(*activity->bench, name, sizes);
    made.push_back(std::move(activity));
  }
  bench.backend.arena(begin);  // whole, so that it does not move while buffers are placed in it
  for (const auto& activity : made) {
    const Bench& own = *activity->bench;
    activity->subject =
        activity->name == "computation"    ? linear_case(own, sizes.linear)
        : activity->name == "memory_bound" ? addition_case(own, own.dtype, sizes.bytes)
        : activity->name == "copy"         ? offload_case(own, sizes.bytes)
                                           : collective_case(own, "all_to_all", sizes.bytes);
  }
  return made;
}

}  // namespace microbench
