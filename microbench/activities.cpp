#include "microbench/activities.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "microbench/collectives/collectives.h"
#include "microbench/copies.h"
#include "microbench/pattern.h"
#include "moe/rows/expert_nodes.h"

namespace microbench {
namespace {

constexpr std::int64_t kAddedColumns = 1024;

std::int64_t added_rows(const Bench& bench, std::int64_t bytes) {
  return std::max<std::int64_t>(bytes / (kAddedColumns * moe::bytes_of(bench.dtype)), 1);
}

std::vector<std::int64_t> added_bytes(const Bench& bench, std::int64_t bytes) {
  const std::int64_t each = added_rows(bench, bytes) * kAddedColumns * moe::bytes_of(bench.dtype);
  return {each, each, each};
}

/// a + b, as training adds residuals.
Case addition_case(const Bench& bench, std::int64_t bytes) {
  const std::int64_t rows = added_rows(bench, bytes), count = rows * kAddedColumns;
  const auto at = place(bench, added_bytes(bench, bytes));
  const auto view = [&](int buffer) {
    return moe::View{at[buffer], bench.dtype, rows, kAddedColumns};
  };
  const auto op = std::make_shared<moe::Op>();
  op->kind = moe::Add{};
  op->name = "add";
  op->stream = moe::Stream::compute;
  moe::BoundOp bound;
  bound.op = op.get();
  bound.reads = {view(0), view(1)};
  bound.writes = {view(2)};
  bound.ranges = {{0, rows}};

  const auto run = [op, bound, &bench] { bench.backend.execute(bound); };
  const auto set = [at, count, &bench](std::size_t buffer, auto element) {
    fill(bench.backend, moe::Stream::compute, at[buffer], count, bench.dtype, element);
  };
  const auto prepare = [set] {
    set(0, [](auto i) { return pattern(0, i); });
    set(1, [](auto i) { return pattern(1, i); });
    set(2, [](auto) { return -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return count_wrong(bench.backend, moe::Stream::compute, at[2], count, bench.dtype,
                       [](auto i) { return pattern(0, i) + pattern(1, i); });
  };
  Result row;
  row.measurement.device = bench.device;
  row.measurement.dtype = moe::name_of(bench.dtype);
  row.measurement.ranks = bench.world.size;
  row.measurement.bytes = count * moe::bytes_of(bench.dtype);
  row.measurement.count = count;
  const auto timed = [run, &bench](int calls) {
    return timed_on_device(bench.backend, moe::Stream::compute, calls, run);
  };
  return {row, prepare, timed, verify, run, moe::Stream::compute};
}

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
  if (name == "memory_bound") return arena_end(bench, added_bytes(bench, sizes.bytes));
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
    activity->subject = activity->name == "computation"    ? linear_case(own, sizes.linear)
                        : activity->name == "memory_bound" ? addition_case(own, sizes.bytes)
                        : activity->name == "copy"
                            ? offload_case(own, sizes.bytes)
                            : collective_case(own, "all_to_all", sizes.bytes);
  }
  return made;
}

}  // namespace microbench
