#include "moe/rows/late_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

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
  std::vector<int> experts;        ///< by member at home, most rows first
  std::vector<std::size_t> first;  ///< [member + 1]: its first one among them

  Home(std::span<const std::int64_t> of, std::span<const int> at_home, int members)
      : rows(of), homes(at_home), experts(of.size()), first(static_cast<std::size_t>(members) + 1) {
    std::iota(experts.begin(), experts.end(), 0);
    std::ranges::sort(experts, [&](int a, int b) {
      if (homes[a] != homes[b]) return homes[a] < homes[b];
      return rows[a] != rows[b] ? rows[a] > rows[b] : a < b;
    });
    for (const int home : homes) ++first[home + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
  }

  int members() const { return static_cast<int>(first.size()) - 1; }
  std::span<const int> at(int member) const {
    return std::span(experts).subspan(first[member], first[member + 1] - first[member]);
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
      : home(&of),
        load(static_cast<std::size_t>(of.members())),
        free_slots(load.size(), slots),
        last(load.size(), -1) {
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

/// UltraEP's greedy plans for one threshold after another.
class Lowering {
 public:
  /// `at_home`: the plan that moves nothing.
  Lowering(const Planning& at_home, int slots)
      : home_(*at_home.home),
        load_(at_home.load),
        slots_(slots),
        sources_(members_by(load_, true)),
        free_slots_(load_.size()) {}

  /// Whether every member comes down to the threshold, by transfers().
  bool lower_to(std::int64_t threshold) {
    transfers_.clear();
    free_slots_.assign(load_.size(), slots_);
    takers_.clear();
    for (int member = 0; member < home_.members(); ++member) {
      if (load_[member] < threshold) takers_.push_back({threshold - load_[member], member});
    }
    std::make_heap(takers_.begin(), takers_.end());
    for (const int source : sources_) {
      const std::int64_t need = load_[source] - threshold;
      if (need <= 0) break;
      if (!relieve(source, need)) return false;
    }
    return true;
  }
  const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  /// A member with room and a free slot. The greatest is that with most room, of equal ones the
  /// first.
  struct Taker {
    std::int64_t room = 0;
    int member = 0;
    bool operator<(const Taker& other) const {
      return room != other.room ? room < other.room : member > other.member;
    }
  };

  /// A member that is given rows of an expert takes all that it can, so it is not asked again for
  /// the same one.
  bool relieve(int source, std::int64_t need) {
    for (const int expert : home_.at(source)) {
      std::int64_t available = home_.rows[expert] - 1;
      while (need > 0 && available > 0) {
        if (takers_.empty()) return false;
        std::pop_heap(takers_.begin(), takers_.end());
        Taker taker = takers_.back();
        takers_.pop_back();
        const std::int64_t count = std::min({need, taker.room, available});
        transfers_.push_back({expert, taker.member, count});
        need -= count;
        available -= count;
        taker.room -= count;
        if (taker.room == 0 || --free_slots_[taker.member] == 0) continue;
        takers_.push_back(taker);
        std::push_heap(takers_.begin(), takers_.end());
      }
      if (need <= 0) return true;
    }
    return false;
  }

  const Home& home_;
  const std::vector<std::int64_t>& load_;  ///< [member]: at home
  int slots_;
  std::vector<int> sources_;  ///< most loaded first
  std::vector<int> free_slots_;
  std::vector<Taker> takers_;  ///< a heap
  std::vector<Transfer> transfers_;
};

Planning ultraep(Planning planning, int slots) {
  const auto members = static_cast<std::int64_t>(planning.load.size());
  std::int64_t low = (planning.total() + members - 1) / members, high = planning.most();
  Lowering lowering(planning, slots);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (lowering.lower_to(middle)) {
      planning.transfers = lowering.transfers();
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return planning;
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
    const std::span<const int> experts = planning.home->at(home);
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
      planning = ultraep(std::move(planning), copies.slots);
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

LatePlan late_plan_in_domains(const LateCopies& copies, std::span<const std::int64_t> rows,
                              std::span<const int> homes, std::span<const int> nodes) {
  if (copies.domain == LateDomain::all) {
    return late_plan(copies, rows, homes, static_cast<int>(nodes.size()));
  }
  std::map<int, std::vector<int>> members;  // by node, ascending
  std::vector<int> place(nodes.size());     // [member]: among those of its node
  for (std::size_t member = 0; member < nodes.size(); ++member) {
    std::vector<int>& of_node = members[nodes[member]];
    place[member] = static_cast<int>(of_node.size());
    of_node.push_back(static_cast<int>(member));
  }
  LatePlan plan(rows.size());
  for (const auto& [node, of_node] : members) {
    std::vector<std::int64_t> rows_there;
    std::vector<int> experts, homes_there;
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      if (nodes[homes[expert]] != node) continue;
      experts.push_back(static_cast<int>(expert));
      rows_there.push_back(rows[expert]);
      homes_there.push_back(place[homes[expert]]);
    }
    LatePlan there = late_plan(copies, rows_there, homes_there, static_cast<int>(of_node.size()));
    for (std::size_t i = 0; i < experts.size(); ++i) {
      for (MemberRows& one : there[i]) one.member = of_node[one.member];
      plan[experts[i]] = std::move(there[i]);
    }
  }
  return plan;
}

}  // namespace moe
