#include "tuner/costs/card_shares.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "tuner/costs/call_loads.h"

namespace tuner {

CardShares card_shares(const GroupCall& call, const moe::Groups& groups) {
  struct Card {
    double out = 0, in = 0;
    int ranks = 0;
  };
  std::map<int, Card> cards;
  CardShares shares;
  const std::vector<RankBytes> bytes = member_bytes(call);
  for (std::size_t member = 0; member < bytes.size(); ++member) {
    Card& card = cards[moe::network_card(groups, call.ranks[member])];
    card.out += bytes[member].out_between;
    card.in += bytes[member].in_between;
    ++card.ranks;
    shares.busiest =
        std::max({shares.busiest, bytes[member].out_between, bytes[member].in_between});
  }
  for (const auto& [number, card] : cards) {
    shares.even = std::max(shares.even, std::max(card.out, card.in) / card.ranks);
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
