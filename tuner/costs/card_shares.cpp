#include "tuner/costs/card_shares.h"

#include <algorithm>
#include <array>
#include <map>

namespace tuner {

CardShares card_shares(const GroupCall& call, const moe::Groups& groups) {
  using OutAndIn = std::array<double, 2>;
  std::map<int, OutAndIn> of_rank;
  for (const Transfer& transfer : call.transfers) {
    if (!transfer.between_nodes) continue;
    const auto bytes = static_cast<double>(transfer.bytes);
    of_rank[transfer.from][0] += bytes * transfer.out;
    of_rank[transfer.to][1] += bytes * transfer.in;
  }
  for (std::size_t member = 0; member < call.bytes.size(); ++member) {
    OutAndIn& own = of_rank[call.ranks[member]];
    own[0] += call.bytes[member].out_between;
    own[1] += call.bytes[member].in_between;
  }
  struct Card {
    OutAndIn bytes{};
    int ranks = 0;
  };
  std::map<int, Card> cards;
  for (const int rank : call.ranks) ++cards[moe::network_card(groups, rank)].ranks;
  CardShares shares;
  for (const auto& [rank, bytes] : of_rank) {
    Card& card = cards[moe::network_card(groups, rank)];
    for (std::size_t way = 0; way < bytes.size(); ++way) {
      card.bytes[way] += bytes[way];
      shares.busiest = std::max(shares.busiest, bytes[way]);
    }
  }
  for (const auto& [number, card] : cards) {
    shares.even = std::max(shares.even, std::ranges::max(card.bytes) / card.ranks);
  }
  return shares;
}

CardShares card_shares(const std::vector<GroupCall>& calls, const moe::Groups& groups) {
  CardShares all;
  for (const GroupCall& call : calls) {
    const CardShares one = card_shares(call, groups);
    all = {std::max(all.even, one.even), std::max(all.busiest, one.busiest)};
  }
  return all;
}

}  // namespace tuner
