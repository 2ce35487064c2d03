#include "db/timeline/memory_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace db {

namespace {

constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 50;  // no memory is larger

const TimelineTensor* find_tensor(const MemoryTable& table, int tensor) {
  const auto found =
      std::lower_bound(table.tensors.begin(), table.tensors.end(), tensor,
                       [](const TimelineTensor& of, int number) { return of.tensor < number; });
  return found == table.tensors.end() || found->tensor != tensor ? nullptr : &*found;
}

bool is_persistent(const Allocation& of) { return !of.begin_s || !of.end_s; }

bool is_sound(const MemoryTable& table, const Allocation& of) {
  if (find_tensor(table, of.tensor) == nullptr) return false;
  const auto size = [](std::int64_t bytes) { return bytes >= 0 && bytes <= kMostMemoryBytes; };
  if (!size(of.offset_bytes) || !size(of.bytes)) return false;
  return is_persistent(of) || (std::isfinite(*of.begin_s) && std::isfinite(*of.end_s));
}

// Adds up allocations of one pool.
class PoolSum {
 public:
  void add(const Allocation& of) {
    const auto bytes = static_cast<double>(of.bytes);
    use_.planned_bytes = std::max(use_.planned_bytes, static_cast<double>(of.offset_bytes) + bytes);
    empty_ = false;
    if (is_persistent(of)) {
      use_.persistent_bytes += bytes;
    } else {
      changes_[*of.begin_s] += bytes;
      changes_[*of.end_s] -= bytes;
    }
  }

  PoolUse take() {
    if (empty_) return std::move(use_);
    changes_.try_emplace(0, 0.0);
    double bytes = use_.persistent_bytes;
    for (const auto& [at_s, change] : changes_) {
      bytes += change;
      if (use_.steps.empty() || change != 0) use_.steps.push_back({at_s, bytes});
      if (bytes > use_.peak.bytes) use_.peak = {at_s, bytes};
    }
    return std::move(use_);
  }

 private:
  PoolUse use_;
  bool empty_ = true;
  std::map<double, double> changes_;
};

RankMemory rank_memory(const MemoryTable& table, std::size_t first, std::size_t end) {
  RankMemory rank;
  rank.rank = table.allocations[first].rank;
  rank.first = first;
  rank.count = end - first;
  PoolSum device, host;
  for (std::size_t i = first; i < end; ++i) {
    const Allocation& of = table.allocations[i];
    (find_tensor(table, of.tensor)->pool == kHostPool ? host : device).add(of);
  }
  rank.device = device.take();
  rank.host = host.take();
  return rank;
}

}  // namespace

MemoryTable build_memory_table(TimelineMemory memory, const std::vector<RunRank>& run_ranks) {
  MemoryTable table{std::move(memory.tensors), std::move(memory.allocations), {}};
  std::sort(table.tensors.begin(), table.tensors.end(),
            [](const TimelineTensor& a, const TimelineTensor& b) { return a.tensor < b.tensor; });
  std::erase_if(table.allocations, [&](const Allocation& of) { return !is_sound(table, of); });
  std::stable_sort(table.allocations.begin(), table.allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.rank < b.rank; });
  for (std::size_t first = 0; first < table.allocations.size();) {
    std::size_t end = first;
    while (end < table.allocations.size() &&
           table.allocations[end].rank == table.allocations[first].rank) {
      ++end;
    }
    table.ranks.push_back(rank_memory(table, first, end));
    first = end;
  }
  for (const RunRank& row : run_ranks) {
    const auto rank = std::find_if(table.ranks.begin(), table.ranks.end(),
                                   [&](const RankMemory& of) { return of.rank == row.rank; });
    const bool measured = row.measured_peak_bytes > 0 && rank != table.ranks.end();
    if (measured) rank->touched_bytes = static_cast<double>(row.measured_peak_bytes);
  }
  return table;
}

const RankMemory* memory_of(const MemoryTable& table, int rank) {
  const auto found = std::find_if(table.ranks.begin(), table.ranks.end(),
                                  [&](const RankMemory& of) { return of.rank == rank; });
  return found == table.ranks.end() ? nullptr : &*found;
}

const RankMemory* fullest_rank(const MemoryTable& table) {
  const auto fullest = std::max_element(table.ranks.begin(), table.ranks.end(),
                                        [](const RankMemory& a, const RankMemory& b) {
                                          return a.device.peak.bytes < b.device.peak.bytes;
                                        });
  return fullest == table.ranks.end() ? nullptr : &*fullest;
}

double bytes_at(const PoolUse& use, double at_s) {
  const auto after =
      std::upper_bound(use.steps.begin(), use.steps.end(), at_s,
                       [](double time_s, const MemoryStep& step) { return time_s < step.at_s; });
  return after == use.steps.begin() ? use.persistent_bytes : std::prev(after)->bytes;
}

std::vector<MemoryItem> items_at(const MemoryTable& table, const RankMemory& rank, double at_s) {
  std::map<std::pair<std::string, std::string>, MemoryItem> persistent;  // by pool and role
  std::vector<MemoryItem> items;
  for (std::size_t i = rank.first; i < rank.first + rank.count; ++i) {
    const Allocation& of = table.allocations[i];
    const TimelineTensor& tensor = *find_tensor(table, of.tensor);
    const auto bytes = static_cast<double>(of.bytes);
    if (is_persistent(of)) {
      MemoryItem& all = persistent[{tensor.pool, tensor.role}];
      all.role = tensor.role, all.pool = tensor.pool;
      all.bytes += bytes;
      ++all.tensors;
    } else if (*of.begin_s <= at_s && at_s < *of.end_s) {
      items.push_back({tensor.name, tensor.role, tensor.pool, bytes, 1, &of});
    }
  }
  const auto larger = [](const MemoryItem& a, const MemoryItem& b) { return a.bytes > b.bytes; };
  std::stable_sort(items.begin(), items.end(), larger);
  std::vector<MemoryItem> all;
  for (auto& [key, item] : persistent) all.push_back(std::move(item));
  std::stable_sort(all.begin(), all.end(), larger);
  all.insert(all.end(), items.begin(), items.end());
  return all;
}

}  // namespace db
