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
        takers_(members_by(load_, false)),
        free_slots_(load_.size()) {}

  /// Whether every member comes down to the threshold, by transfers().
  bool lower_to(std::int64_t threshold) {
    transfers_.clear();
    free_slots_.assign(load_.size(), slots_);
    threshold_ = threshold;
    next_ = 0;
    again_.clear();
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

  /// The greatest of those that were given nothing, which come as they are loaded, and of those that
  /// have room again. Without room where there is none.
  Taker take_greatest() {
    Taker taker;
    if (next_ < takers_.size()) taker = {threshold_ - load_[takers_[next_]], takers_[next_]};
    if (!again_.empty() && (taker.room <= 0 || taker < again_.front())) {
      std::pop_heap(again_.begin(), again_.end());
      taker = again_.back();
      again_.pop_back();
    } else {
      ++next_;
    }
    return taker;
  }

  /// A member that is given rows of an expert takes all that it can, so it is not asked again for
  /// the same one.
  bool relieve(int source, std::int64_t need) {
    for (const int expert : home_.at(source)) {
      std::int64_t available = home_.rows[expert] - 1;
      while (need > 0 && available > 0) {
        Taker taker = take_greatest();
        if (taker.room <= 0) return false;
        const std::int64_t count = std::min({need, taker.room, available});
        transfers_.push_back({expert, taker.member, count});
        need -= count;
        available -= count;
        taker.room -= count;
        if (taker.room == 0 || --free_slots_[taker.member] == 0) continue;
        again_.push_back(taker);
        std::push_heap(again_.begin(), again_.end());
      }
      if (need <= 0) return true;
    }
    return false;
  }

  const RowsAtHome& home_;
  const std::vector<std::int64_t>& load_;  ///< [member]: at home
  int slots_;
  std::vector<int> sources_;  ///< most loaded first
  std::vector<int> takers_;   ///< least loaded first, of equal ones the first
  std::vector<int> free_slots_;
  std::int64_t threshold_ = 0;
  std::size_t next_ = 0;      ///< of takers_: the first that was given nothing yet
  std::vector<Taker> again_;  ///< a heap
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
