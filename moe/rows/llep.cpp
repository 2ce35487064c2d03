#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "moe/rows/late_planning.h"

namespace moe {
namespace {

/// The fullest member over the mean, below which everything stays at home.
constexpr double kUneven = 1.3;

/// Gives experts away, one after the other.
class LeastLoadedFirst {
 public:
  LeastLoadedFirst(LatePlanning planning, const LateCopies& copies)
      : planning_(std::move(planning)),
        copies_(copies),
        pending_(planning_.load),
        assigned_(pending_.size()) {
    const std::int64_t mean = planning_.total() / static_cast<std::int64_t>(pending_.size());
    cap_ = static_cast<std::int64_t>(std::floor(copies.alpha * static_cast<double>(mean)));
  }

  LatePlanning run() {
    const RowsAtHome& at_home = *planning_.home;
    std::vector<int> order(at_home.rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order,
                             [&](int a, int b) { return at_home.rows[a] > at_home.rows[b]; });
    for (const int expert : order) place(expert, at_home.homes[expert], at_home.rows[expert]);
    return std::move(planning_);
  }

 private:
  void place(int expert, int home, std::int64_t rows) {
    pending_[home] -= rows;
    const std::int64_t own = std::clamp<std::int64_t>(cap_ - busy(home), 0, rows);
    rest_ = rows - own;
    assigned_[home] += own;
    const bool taken = own == 0 ? offer_once(expert) : offer_again(expert);
    if (rest_ == 0) return;
    const std::vector<int> by_load = others(expert);
    if (!taken && !by_load.empty() && busy(by_load.front()) < busy(home)) {
      take(expert, by_load.front(), rest_);
    } else {
      assigned_[home] += rest_;  // what nobody takes stays at home
    }
  }

  /// To the members once, in their first order. Whether one took a chunk.
  bool offer_once(int expert) {
    bool taken = false;
    for (const int member : others(expert)) taken = offer(expert, member) || taken;
    return taken;
  }

  /// To the first member that takes a chunk, again and again. Whether one took any.
  bool offer_again(int expert) {
    bool taken = false;
    for (bool found = true; found && rest_ > 0;) {
      const std::vector<int> by_load = others(expert);
      found = std::ranges::any_of(by_load, [&](int member) { return offer(expert, member); });
      taken = taken || found;
    }
    return taken;
  }

  bool offer(int expert, int member) {
    const std::int64_t chunk = std::min(rest_, cap_ - busy(member));
    if (chunk <= 0 || (chunk < copies_.least_rows && chunk < rest_)) return false;
    take(expert, member, chunk);
    return true;
  }

  void take(int expert, int member, std::int64_t rows) {
    planning_.give(expert, member, rows);
    assigned_[member] += rows;
    rest_ -= rows;
  }

  /// The members that may take the expert, least loaded first.
  std::vector<int> others(int expert) const {
    std::vector<std::int64_t> loads(pending_.size());
    for (std::size_t i = 0; i < loads.size(); ++i) loads[i] = assigned_[i] + pending_[i];
    std::vector<int> by_load = members_by(loads, false);
    std::erase_if(by_load, [&](int member) { return !planning_.may_take(expert, member); });
    return by_load;
  }

  std::int64_t busy(int member) const { return assigned_[member] + pending_[member]; }

  LatePlanning planning_;
  const LateCopies& copies_;
  std::vector<std::int64_t> pending_;   ///< [member]: rows of its experts that are not placed yet
  std::vector<std::int64_t> assigned_;  ///< [member]: rows of placed experts that it computes
  std::int64_t cap_ = 0;
  std::int64_t rest_ = 0;  ///< rows of the expert under way
};

}  // namespace

LatePlanning plan_llep(LatePlanning planning, const LateCopies& copies) {
  const double limit = kUneven * static_cast<double>(planning.total()) / planning.home->members();
  if (static_cast<double>(planning.most()) < limit) return planning;
  return LeastLoadedFirst(std::move(planning), copies).run();
}

}  // namespace moe
