#include <algorithm>
#include <utility>

#include "moe/rows/late_planning.h"

namespace moe {
namespace {

/// The greedy plans for one threshold after another.
class Lowering {
 public:
  /// `at_home`: the plan that moves nothing.
  Lowering(const LatePlanning& at_home, int slots)
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
  const std::vector<LateTransfer>& transfers() const { return transfers_; }

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

  const RowsAtHome& home_;
  const std::vector<std::int64_t>& load_;  ///< [member]: at home
  int slots_;
  std::vector<int> sources_;  ///< most loaded first
  std::vector<int> free_slots_;
  std::vector<Taker> takers_;  ///< a heap
  std::vector<LateTransfer> transfers_;
};

}  // namespace

LatePlanning plan_ultraep(LatePlanning planning, int slots) {
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

}  // namespace moe
