#include "moe/rows/late_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace moe {
namespace {

/// LLEP's, below which it leaves everything at home.
constexpr double kUneven = 1.3;

struct Transfer {
  int expert = 0, to = 0;
  std::int64_t rows = 0;
};

/// What no plan changes.
struct Home {
  std::span<const std::int64_t> rows;
  std::span<const int> homes;
  std::vector<std::vector<int>> at;  ///< [member]: experts at home there, most rows first

  Home(std::span<const std::int64_t> of, std::span<const int> at_home, int members)
      : rows(of), homes(at_home), at(static_cast<std::size_t>(members)) {
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      at[homes[expert]].push_back(static_cast<int>(expert));
    }
    for (auto& experts : at) {
      std::ranges::stable_sort(experts, [&](int a, int b) { return rows[a] > rows[b]; });
    }
  }
};

/// A plan in the making. Experts are given away one after the other.
struct Planning {
  const Home* home;
  std::vector<Transfer> transfers;  ///< away from home
  std::vector<std::int64_t> load;   ///< [member]: rows that it computes
  std::vector<int> free_slots;      ///< [member]
  std::vector<int> last;            ///< [member]: the expert that it was given last

  Planning(const Home& of, int slots)
      : home(&of), load(of.at.size()), free_slots(of.at.size(), slots), last(of.at.size(), -1) {
    for (std::size_t expert = 0; expert < of.rows.size(); ++expert) {
      load[of.homes[expert]] += of.rows[expert];
    }
  }

  bool may_take(int expert, int member) const {
    return free_slots[member] > 0 && last[member] != expert && home->homes[expert] != member;
  }
  void give(int expert, int member, std::int64_t count) {
    transfers.push_back({expert, member, count});
    load[home->homes[expert]] -= count;
    load[member] += count;
    --free_slots[member];
    last[member] = expert;
  }
  std::int64_t total() const { return std::accumulate(load.begin(), load.end(), std::int64_t{0}); }
  std::int64_t most() const { return *std::ranges::max_element(load); }
};

std::vector<int> members_by(const std::vector<std::int64_t>& key, bool descending) {
  std::vector<int> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int a, int b) { return descending ? key[a] > key[b] : key[a] < key[b]; });
  return order;
}

/// Whether every member comes down to the threshold.
bool lower_to(Planning& planning, std::int64_t threshold) {
  const Home& home = *planning.home;
  const std::vector<int> sources = members_by(planning.load, true);
  std::vector<std::int64_t> slack;
  for (const std::int64_t load : planning.load) {
    slack.push_back(std::max<std::int64_t>(threshold - load, 0));
  }
  for (const int source : sources) {
    std::int64_t need = planning.load[source] - threshold;
    for (const int expert : home.at[source]) {
      std::int64_t available = home.rows[expert] - 1;
      while (need > 0 && available > 0) {
        int to = -1;
        for (int member = 0; member < static_cast<int>(slack.size()); ++member) {
          if (slack[member] == 0 || !planning.may_take(expert, member)) continue;
          if (to < 0 || slack[member] > slack[to]) to = member;
        }
        if (to < 0) break;
        const std::int64_t count = std::min({need, slack[to], available});
        planning.give(expert, to, count);
        slack[to] -= count;
        need -= count;
        available -= count;
      }
      if (need <= 0) break;
    }
    if (need > 0) return false;
  }
  return true;
}

Planning ultraep(const Planning& at_home) {
  const auto members = static_cast<std::int64_t>(at_home.load.size());
  std::int64_t low = (at_home.total() + members - 1) / members, high = at_home.most();
  Planning best = at_home;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Planning tried = at_home;
    if (lower_to(tried, middle)) {
      best = std::move(tried);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

Planning moonep(Planning planning) {
  const auto members = static_cast<int>(planning.load.size());
  const std::int64_t total = planning.total();
  std::vector<std::int64_t> over;  // [member]: rows above its share
  for (int member = 0; member < members; ++member) {
    const std::int64_t share = total / members + (member < total % members ? 1 : 0);
    over.push_back(planning.load[member] - share);
  }
  struct Quota {
    int to = 0;
    std::int64_t rows = 0;
  };
  std::vector<std::vector<Quota>> from(static_cast<std::size_t>(members));
  while (*std::ranges::max_element(over) > 0) {
    const auto home = static_cast<int>(std::ranges::max_element(over) - over.begin());
    const auto to = static_cast<int>(std::ranges::min_element(over) - over.begin());
    from[home].push_back({to, -over[to]});
    over[home] += over[to];
    over[to] = 0;
  }
  for (int home = 0; home < members; ++home) {
    std::vector<std::int64_t> rest;
    const std::vector<int>& experts = planning.home->at[home];
    for (const int expert : experts) rest.push_back(planning.home->rows[expert]);
    auto& quotas = from[home];
    std::ranges::sort(quotas, {}, &Quota::to);
    for (;;) {
      const auto quota = std::ranges::max_element(quotas, {}, &Quota::rows);
      if (quota == quotas.end() || quota->rows == 0) break;
      const auto largest = std::ranges::max_element(rest);
      const int expert = experts[static_cast<std::size_t>(largest - rest.begin())];
      if (*largest == 0 || planning.free_slots[quota->to] == 0) {
        quota->rows = 0;  // [ours] the member stays below its share
        continue;
      }
      const std::int64_t count = std::min(quota->rows, *largest);
      planning.give(expert, quota->to, count);
      quota->rows -= count;
      *largest -= count;
    }
  }
  return planning;
}

Planning llep(Planning planning, const LateCopies& copies) {
  const auto members = static_cast<int>(planning.load.size());
  const std::int64_t mean = planning.total() / members;
  if (static_cast<double>(planning.most()) <
      kUneven * static_cast<double>(planning.total()) / members) {
    return planning;
  }
  const auto cap = static_cast<std::int64_t>(std::floor(copies.alpha * static_cast<double>(mean)));
  std::vector<std::int64_t> pending = planning.load;
  std::vector<std::int64_t> assigned(pending.size());
  const Home& at_home = *planning.home;
  std::vector<int> order(at_home.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return at_home.rows[a] > at_home.rows[b]; });
  const auto others = [&](int expert) {
    std::vector<std::int64_t> busy(pending.size());
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] = assigned[i] + pending[i];
    std::vector<int> by_load = members_by(busy, false);
    std::erase_if(by_load, [&](int member) { return !planning.may_take(expert, member); });
    return by_load;
  };
  for (const int expert : order) {
    const int home = at_home.homes[expert];
    const std::int64_t all = at_home.rows[expert];
    pending[home] -= all;
    const std::int64_t room = cap - assigned[home] - pending[home];
    const std::int64_t own = std::clamp<std::int64_t>(room, 0, all);
    std::int64_t rest = all - own;
    assigned[home] += own;
    const auto take = [&](int member, std::int64_t count) {
      planning.give(expert, member, count);
      assigned[member] += count;
      rest -= count;
    };
    /// The first of these that takes a chunk; -1 where none does.
    const auto offer = [&](int member) {
      const std::int64_t chunk = std::min(rest, cap - assigned[member] - pending[member]);
      if (chunk <= 0 || (chunk < copies.least_rows && chunk < rest)) return false;
      take(member, chunk);
      return true;
    };
    bool taken = false;
    if (own == 0 && rest > 0) {  // through the members once, in their first order
      for (const int member : others(expert)) {
        if (rest > 0) taken = offer(member) || taken;
      }
    } else {
      for (bool found = true; found && rest > 0;) {
        const std::vector<int> by_load = others(expert);
        found = std::ranges::any_of(by_load, offer);
        taken = taken || found;
      }
    }
    if (rest == 0) continue;
    const std::vector<int> by_load = others(expert);
    if (!taken && own < all && !by_load.empty() &&
        assigned[by_load.front()] + pending[by_load.front()] < assigned[home] + pending[home]) {
      take(by_load.front(), rest);
    } else {
      assigned[home] += rest;  // what nobody takes stays at home
    }
  }
  return planning;
}

}  // namespace

LatePlan late_plan(const LateCopies& copies, std::span<const std::int64_t> rows,
                   std::span<const int> homes, int members) {
  const Home at_home(rows, homes, members);
  Planning planning(at_home, copies.slots);
  switch (copies.rule) {
    case LateRule::ultraep:
      planning = ultraep(planning);
      break;
    case LateRule::moonep:
      planning = moonep(std::move(planning));
      break;
    case LateRule::llep:
      planning = llep(std::move(planning), copies);
      break;
  }
  LatePlan plan;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    plan.push_back({{homes[expert], rows[expert]}});
  }
  std::ranges::sort(planning.transfers, {}, &Transfer::to);
  for (const Transfer& transfer : planning.transfers) {
    plan[transfer.expert].front().rows -= transfer.rows;
    plan[transfer.expert].push_back({transfer.to, transfer.rows});
  }
  return plan;
}

}  // namespace moe
