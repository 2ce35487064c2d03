#include "tuner/simulate/channels.h"

#include <algorithm>
#include <utility>

namespace tuner {
namespace {

bool can_move(const Flow& message) {
  return message.held_bytes <= 0 || message.bytes_left > message.held_bytes;
}

}  // namespace

double Channel::waiting_bytes() const {
  double bytes = 0;
  for (const Flow& message : waiting) bytes += message.bytes_left;
  return bytes;
}

int Channels::number_of(moe::Stream stream, int from, int to) {
  const auto [found, is_new] =
      numbers_.try_emplace({stream, from, to}, static_cast<int>(channels_.size()));
  if (is_new) channels_.push_back({.stream = stream});
  return found->second;
}

void Channels::add(double now, Flow message, std::vector<Flow>& flows) {
  Channel& channel = at(message.channel);
  channel.sender = {message.op, message.call, message.from_member};
  channel.sender_waits = true;
  channel.waiting.push_back(std::move(message));
  move_next(now, channel.waiting.back().channel, flows);
}

void Channels::receiver_came(double now, const CallMember& receiver, std::vector<Flow>& flows) {
  const auto let = [&](Flow& message) {
    if (message.channel >= 0 && message.op == receiver.op && message.call == receiver.call &&
        message.to_member == receiver.member) {
      message.held_bytes = 0;
    }
  };
  for (Flow& moving : flows) let(moving);
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    std::ranges::for_each(channels_[number].waiting, let);
    move_next(now, static_cast<int>(number), flows);
  }
}

void Channels::move_next(double now, int number, std::vector<Flow>& flows) {
  Channel& channel = at(number);
  if (channel.moves || channel.waiting.empty() || !can_move(channel.waiting.front())) return;
  flows.push_back(std::move(channel.waiting.front()));
  flows.back().began = now;
  channel.waiting.pop_front();
  channel.moves = true;
}

}  // namespace tuner
