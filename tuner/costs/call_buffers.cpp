#include "tuner/costs/call_buffers.h"

#include <algorithm>
#include <cstddef>

#include "tuner/costs/call_loads.h"

namespace tuner {

bool sends_messages_apart(const moe::Op& op) {
  return moe::exchanges_rows(op) || moe::binds_routing(op);
}

bool uses_buffers(const OpCost& cost, const GroupCall& call) {
  return cost.buffers.any() && call.link == Occupation::inter_node && call.bytes.empty() &&
         call.copies.empty();
}

std::vector<double> least_member_seconds(const OpCost& cost, const GroupCall& call,
                                         const Cluster& cluster) {
  if (!uses_buffers(cost, call)) return member_seconds(cost, call, cluster);
  const std::size_t members = call.ranks.size();
  const double ahead = cost.buffers.ahead_bytes, leaving = cost.buffers.leaving_bytes;
  std::vector<std::vector<double>> between(members, std::vector<double>(members));  // [from][to]
  std::vector<RankBytes> as_last(members);  // [member]: its bytes where it is the last one
  for (const Transfer& transfer : call.transfers) {
    const int from = member_index(call, transfer.from), to = member_index(call, transfer.to);
    const auto bytes = static_cast<double>(transfer.bytes);
    if (transfer.between_nodes) {
      between[from][to] += bytes;
      // By a relay's card it leaves beside what the rank's own card sends.
      if (transfer.relay < 0) as_last[from].out_between += bytes - leaving;
      as_last[to].in_between += bytes - ahead;
    } else {
      as_last[from].out_within += bytes;
      as_last[to].in_within += bytes;
    }
  }
  std::vector<double> seconds;
  for (std::size_t member = 0; member < members; ++member) {
    RankBytes bytes = as_last[member];
    double least = std::max(bytes.out_between, bytes.in_between);
    for (std::size_t last = 0; last < members; ++last) {
      if (last == member) continue;
      least =
          std::min(least, std::max(between[member][last] - ahead - leaving, between[last][member]));
    }
    bytes.out_between = bytes.in_between = least;
    seconds.push_back(seconds_of_bytes(bytes, cost, call, cluster));
  }
  return seconds;
}

}  // namespace tuner
