#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace tuner {

/// `message`: what one rank sends in a call begins to move; `transfer`: what all send does.
enum class EventKind : std::uint8_t { start, computed, message, transfer };

/// What happens on several ranks at one time, to one op.
struct Event {
  struct OnRank {
    int rank = 0;  ///< index of the call for `transfer`
    int version = 0;
  };
  double time = 0;
  int op = 0;
  EventKind kind = EventKind::start;
  std::vector<OnRank> ranks;
};

/// Events by time, then op, then rank. Ranks that do the same at the same time are one event, so
/// that thousands of ranks in step cost little more than one.
class EventQueue {
 public:
  /// `joins`: false where the order of ranks and calls at one time matters to the last.
  explicit EventQueue(bool joins) : joins_(joins) {}

  double next_time() const {
    return places_.empty() ? std::numeric_limits<double>::infinity() : places_.top().time;
  }

  void push(double time, int op, EventKind kind, Event::OnRank on) {
    int& last = last_[static_cast<std::size_t>(op) % last_.size()];
    const bool of_call = kind == EventKind::message || kind == EventKind::transfer;
    if (joins_ && !of_call && last >= 0) {
      Event& open = events_[last];
      if (open.time == time && open.op == op && open.kind == kind) {
        open.ranks.push_back(on);
        return;
      }
    }
    if (unused_.empty()) {
      unused_.push_back(static_cast<int>(events_.size()));
      events_.emplace_back();
    }
    last = unused_.back();
    unused_.pop_back();
    Event& event = events_[last];
    event.time = time;
    event.op = op;
    event.kind = kind;
    event.ranks.push_back(on);
    places_.push({time, op, on.rank, kind, last});
  }

  /// The next event, until the next call.
  const Event& pop() {
    const int place = places_.top().event;
    places_.pop();
    std::swap(popped_, events_[place]);
    Event& emptied = events_[place];
    emptied.ranks.clear();
    emptied.op = -1;  // nothing joins it
    unused_.push_back(place);
    return popped_;
  }

 private:
  struct Place {
    double time;
    int op, rank;
    EventKind kind;
    int event;
    bool operator>(const Place& other) const {
      return std::tie(time, op, rank, kind) >
             std::tie(other.time, other.op, other.rank, other.kind);
    }
  };

  bool joins_;
  std::vector<Event> events_;
  std::vector<int> unused_;  ///< places in events_
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places_;
  /// The event that was made last, by op: the only one that others may join.
  std::array<int, 64> last_ = [] {
    std::array<int, 64> none{};
    none.fill(-1);
    return none;
  }();
  Event popped_;
};

}  // namespace tuner
