#include "tuner/costs/card_shares.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tuner/costs/call_loads.h"

namespace tuner {

CardShares card_shares(const GroupCall& call, const moe::Groups& groups) {
  using OutAndIn = std::array<double, 2>;
  struct Card {
    OutAndIn bytes{};
    int ranks = 0;
  };
  std::map<int, Card> cards;
  CardShares shares;
  const std::vector<RankBytes> of_members = member_bytes(call);
  for (std::size_t member = 0; member < of_members.size(); ++member) {
    const OutAndIn bytes{of_members[member].out_between, of_members[member].in_between};
    Card& card = cards[moe::network_card(groups, call.ranks[member])];
    ++card.ranks;
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
    if (std::pair(one.busiest, one.even) > std::pair(all.busiest, all.even)) all = one;
  }
  return all;
}

}  // namespace tuner
