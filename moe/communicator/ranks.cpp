#include "moe/communicator/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "moe/communicator/clock_offset.h"
#include "moe/communicator/cores.h"
#include "moe/communicator/node_name.h"

namespace moe {
namespace {

/// Namespaces and containers have host names of their own, but the kernel below them boots once.
std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? node_name() : boot;
}

/// Ranks where this is equal compute on the same cores if these have equal numbers. A node that
/// never computes with the share of another (cluster-in-a-box --own-share) is as apart from it as
/// computers are.
std::string cores_name(const std::string& hostname) {
  const bool own_share = std::getenv("MOELAB_BOX_CORE_SHARE") != nullptr;
  return own_share ? machine_name() + " " + hostname : machine_name();
}

/// Numbers names in the order of their first rank.
std::vector<int> number(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  std::vector<int> result;
  for (const std::string& name : names) {
    result.push_back(numbers.emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

void say_unknown_clocks(const std::vector<RankInfo>& ranks, double time_limit_s) {
  std::vector<std::string> unknown;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_known(ranks[rank].clock)) continue;
    unknown.push_back(fmt::format("{} ({})", rank, ranks[rank].hostname));
  }
  if (unknown.empty()) return;
  spdlog::warn(
      "the clock{} of rank{} {} could not be compared with that of rank 0 in time (a quarter of "
      "--time-limit {}): timelines take it as equal until barriers tell otherwise",
      unknown.size() == 1 ? "" : "s", unknown.size() == 1 ? "" : "s", fmt::join(unknown, ", "),
      time_limit_s);
}

/// The text that a rank tells the others: the largest number first.
std::string to_text(const UsableCores& usable) {
  return fmt::format("{} {}", usable.most, fmt::join(usable.cores, " "));
}

UsableCores cores_from_text(const std::string& text) {
  std::istringstream numbers(text);
  UsableCores usable;
  numbers >> usable.most;
  usable.cores.assign(std::istream_iterator<int>(numbers), {});
  return usable;
}

}  // namespace

std::vector<std::string> gather_texts(Communicator& world, const std::string& mine,
                                      const CallContext& call) {
  const auto bytes = static_cast<std::int32_t>(mine.size());
  std::vector<std::int32_t> lengths(world.size);
  world.all_gather(&bytes, lengths.data(), 1, DType::i32, call);

  // As whole words, each as long as the longest text.
  const std::int64_t words = (*std::max_element(lengths.begin(), lengths.end()) + 3) / 4;
  std::vector<std::int32_t> packed(words), all(words * world.size);
  std::memcpy(packed.data(), mine.data(), mine.size());
  world.all_gather(packed.data(), all.data(), words, DType::i32, call);
  std::vector<std::string> texts;
  for (int rank = 0; rank < world.size; ++rank) {
    texts.emplace_back(reinterpret_cast<const char*>(all.data() + rank * words), lengths[rank]);
  }
  return texts;
}

std::string broadcast_text(Communicator& world, const std::string& of_rank_0,
                           const CallContext& call) {
  auto bytes = static_cast<std::int64_t>(world.rank == 0 ? of_rank_0.size() : 0);
  std::array<std::int32_t, 2> halves{};  // no type of a call has 64 bits
  std::memcpy(halves.data(), &bytes, sizeof bytes);
  world.broadcast(halves.data(), halves.size(), DType::i32, 0, call);
  std::memcpy(&bytes, halves.data(), sizeof bytes);

  std::vector<std::int32_t> words(static_cast<std::size_t>((bytes + 3) / 4));
  if (world.rank == 0) std::memcpy(words.data(), of_rank_0.data(), of_rank_0.size());
  world.broadcast(words.data(), static_cast<std::int64_t>(words.size()), DType::i32, 0, call);
  return {reinterpret_cast<const char*>(words.data()), static_cast<std::size_t>(bytes)};
}

std::vector<RankInfo> survey_ranks(Communicator& world, double time_limit_s,
                                   const std::string& node) {
  const CallContext call{.time_limit_s = time_limit_s, .what = "survey of the ranks"};
  const ClockOffset clock = measure_clock_offset(world, time_limit_s);
  const std::array<double, 3> mine{clock.offset_s, clock.error_s, static_cast<double>(getpid())};
  std::vector<double> all(mine.size() * world.size);
  world.all_gather(mine.data(), all.data(), mine.size(), DType::f64, call);
  const std::string hostname = node.empty() ? node_name() : node;
  const std::vector<std::string> hostnames = gather_texts(world, hostname, call);
  const std::vector<int> nodes = number(hostnames);
  const std::vector<int> machines = number(gather_texts(world, machine_name(), call));
  std::vector<UsableCores> usable;
  for (const std::string& text : gather_texts(world, to_text(usable_cores()), call)) {
    usable.push_back(cores_from_text(text));
  }
  const CoreSets sets = core_sets(usable, number(gather_texts(world, cores_name(hostname), call)));

  std::vector<RankInfo> ranks;
  for (int rank = 0; rank < world.size; ++rank) {
    const double* numbers = all.data() + rank * mine.size();
    ranks.push_back({hostnames[rank],
                     nodes[rank],
                     machines[rank],
                     sets.set[rank],
                     sets.cores[sets.set[rank]],
                     static_cast<std::int64_t>(numbers[2]),
                     {numbers[0], numbers[1]}});
  }
  if (world.rank == 0) say_unknown_clocks(ranks, time_limit_s);
  return ranks;
}

std::vector<int> nodes_of(const std::vector<RankInfo>& ranks) {
  std::vector<int> nodes;
  for (const RankInfo& rank : ranks) nodes.push_back(rank.node);
  return nodes;
}

int ranks_on_machine(const std::vector<RankInfo>& ranks, int rank) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](const RankInfo& other) {
    return other.machine == ranks.at(rank).machine;
  }));
}

}  // namespace moe
