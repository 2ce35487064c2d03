#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "moe/program/op.h"
#include "tuner/simulate/flow_rates.h"

namespace tuner {

/// One rank in one call.
struct CallMember {
  int op = 0;
  int call = 0;  ///< index into OpCost::calls
  int member = 0;
};

/// The messages from one rank to another on one stream. They follow each other.
struct Channel {
  moe::Stream stream = moe::Stream::compute;
  bool moves = false;          ///< a message is under way
  std::deque<Flow> waiting{};  ///< those that do not move: behind the one under way, or all
  CallMember sender{};         ///< the one that sends the last message
  bool sender_waits = false;   ///< and is still in its call

  double waiting_bytes() const;  ///< of all messages in `waiting`
};

/// All channels of a simulation. The messages that move are flows of FlowsUnderWay.
class Channels {
 public:
  std::size_t size() const { return channels_.size(); }
  Channel& at(int number) { return channels_[static_cast<std::size_t>(number)]; }
  const Channel& at(int number) const { return channels_[static_cast<std::size_t>(number)]; }
  /// Makes it where there is none.
  int number_of(moe::Stream stream, int from, int to);

  /// Puts a message at the end of its channel (Flow::channel), or into `flows` where it can move.
  void add(double now, Flow message, std::vector<Flow>& flows);
  /// The receiver of messages of a call has come: they need not wait for it.
  void receiver_came(double now, const CallMember& receiver, std::vector<Flow>& flows);
  /// Moves the first message that waits, if it can move and none is under way.
  void move_next(double now, int number, std::vector<Flow>& flows);

 private:
  std::vector<Channel> channels_;
  std::map<std::tuple<moe::Stream, int, int>, int> numbers_;
};

}  // namespace tuner
