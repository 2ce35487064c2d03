#include "tuner/costs/call_loads.h"

#include <algorithm>

namespace tuner {

int member_index(const GroupCall& call, int rank) {
  return static_cast<int>(std::ranges::lower_bound(call.ranks, rank) - call.ranks.begin());
}

Transfer transfer_between(const moe::Groups& groups, std::span<const int> members, int from, int to,
                          std::int64_t bytes) {
  Transfer transfer{from, to, bytes, groups.node_of[from] != groups.node_of[to]};
  if (!transfer.between_nodes) return transfer;
  const int sender = moe::sending_rank(groups, members, from, to);
  if (sender != from) transfer.relay = sender;
  transfer.levels = moe::levels_crossed(groups, sender, to);
  return transfer;
}

void add_to_members(const Transfer& transfer, const GroupCall& call,
                    std::vector<RankBytes>& bytes) {
  const auto each = static_cast<double>(transfer.bytes);
  RankBytes& from = bytes[member_index(call, transfer.from)];
  RankBytes& to = bytes[member_index(call, transfer.to)];
  if (!transfer.between_nodes) {
    from.out_within += each * transfer.out;
    to.in_within += each * transfer.in;
    return;
  }
  RankBytes& sender = bytes[member_index(call, sender_of(transfer))];
  sender.out_between += each * sent_by_each(transfer);
  to.in_between += each * transfer.in;
  if (transfer.relay >= 0) {
    from.passed_on += each * transfer.out;
    sender.relayed += each * transfer.relayed;
  }
  for (int level = 0; level < transfer.levels; ++level) {
    sender.out_of_block[level] += each * sent_by_each(transfer);
    to.into_block[level] += each * transfer.in;
  }
}

std::vector<RankBytes> member_bytes(const GroupCall& call) {
  std::vector<RankBytes> bytes = call.bytes;
  bytes.resize(call.ranks.size());
  for (const Transfer& transfer : call.transfers) add_to_members(transfer, call, bytes);
  return bytes;
}

namespace {

/// Adds what the cards and the intra-node links of ranks have, of each rank.
void add_rank_loads(int rank, const RankBytes& bytes, const moe::Groups& groups, LinkLoads& loads) {
  const int card = moe::network_card(groups, rank);
  loads.card_out[card] += bytes.out_between;
  loads.card_in[card] += bytes.in_between;
  loads.rank_out[rank] += bytes.out_within + bytes.passed_on;
  loads.rank_in[rank] += bytes.in_within + bytes.relayed;
  for (std::size_t level = 0; level < groups.levels.size(); ++level) {
    const int block = groups.levels[level].block_of[rank];
    const int alike = moe::ranks_alike(groups.levels[level], rank);
    loads.levels[level].out[block] += alike * bytes.out_of_block[level];
    loads.levels[level].in[block] += alike * bytes.into_block[level];
  }
}

}  // namespace

void add_link_loads(const GroupCall& call, const moe::Groups& groups, LinkLoads& loads) {
  const std::vector<RankBytes> bytes = member_bytes(call);
  for (std::size_t member = 0; member < bytes.size(); ++member) {
    add_rank_loads(call.ranks[member], bytes[member], groups, loads);
  }
}

LinkLoads link_loads(const GroupCall& call, const moe::Groups& groups) {
  const auto ranks = static_cast<std::size_t>(groups.ranks);
  const auto cards = static_cast<std::size_t>(moe::card_count(groups));
  LinkLoads loads{std::vector<double>(cards),
                  std::vector<double>(cards),
                  std::vector<double>(ranks),
                  std::vector<double>(ranks),
                  {}};
  for (const moe::Level& level : groups.levels) {
    const std::vector<double> blocks(static_cast<std::size_t>(moe::block_count(level)));
    loads.levels.push_back({blocks, blocks});
  }
  add_link_loads(call, groups, loads);
  return loads;
}

void add_pair_loads(const GroupCall& call, const moe::Groups& groups, PairLoads& loads) {
  for (const Transfer& transfer : call.transfers) {
    const double bytes = static_cast<double>(transfer.bytes) * transfer.out;
    if (!transfer.between_nodes) loads[{transfer.from, transfer.to}] += bytes;
    if (transfer.relay >= 0) loads[{transfer.from, transfer.relay}] += bytes;
  }
  if (call.bytes.empty()) return;
  std::map<int, std::vector<std::size_t>> by_node;
  for (std::size_t member = 0; member < call.ranks.size(); ++member) {
    by_node[groups.node_of[call.ranks[member]]].push_back(member);
  }
  for (const auto& [node, members] : by_node) {
    const auto others = static_cast<double>(members.size() - 1);
    for (const std::size_t from : members) {
      for (const std::size_t to : members) {
        const double bytes =
            call.by_source ? call.bytes[from].out_within : call.bytes[to].in_within;
        if (from != to) loads[{call.ranks[from], call.ranks[to]}] += bytes / others;
      }
    }
  }
}

}  // namespace tuner
