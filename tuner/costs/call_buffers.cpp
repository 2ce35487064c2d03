#include "tuner/costs/call_buffers.h"

#include <algorithm>
#include <cstddef>

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
  std::vector<double> out_within(members), in_within(members), as_last_out(members),
      as_last_in(members);
  for (const Transfer& transfer : call.transfers) {
    const int from = member_index(call, transfer.from), to = member_index(call, transfer.to);
    const auto bytes = static_cast<double>(transfer.bytes);
    if (transfer.between_nodes) {
      between[from][to] += bytes;
      as_last_out[from] += bytes - leaving;
      as_last_in[to] += bytes - ahead;
    } else {
      out_within[from] += bytes;
      in_within[to] += bytes;
    }
  }
  const auto time = [](double bytes, double fitted, double link) {
    return bytes > 0 ? bytes / std::min(fitted, link) : 0;
  };
  std::vector<double> seconds;
  for (std::size_t member = 0; member < members; ++member) {
    double least = std::max({as_last_out[member], as_last_in[member], 0.0});
    for (std::size_t last = 0; last < members; ++last) {
      if (last == member) continue;
      least = std::min(
          least, std::max({between[member][last] - ahead - leaving, between[last][member], 0.0}));
    }
    const double within = std::max(out_within[member], in_within[member]);
    seconds.push_back(call.alpha_s + std::max(time(least, cost.inter_node_bytes_per_s,
                                                   cluster.inter_node.bandwidth_bytes_per_s),
                                              time(within, cost.intra_node_bytes_per_s,
                                                   cluster.intra_node.bandwidth_bytes_per_s)));
  }
  return seconds;
}

}  // namespace tuner
