#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/op_costs.h"

/// Which links the bytes of a call cross, and how many each of them carries.
namespace tuner {

/// From one rank of a call to another, by the links of `groups`. `members`: ranks of the call.
Transfer transfer_between(const moe::Groups& groups, std::span<const int> members, int from, int to,
                          std::int64_t bytes);

/// The place of a rank among the members of a call.
int member_index(const GroupCall& call, int rank);

/// Adds a transfer between members of a call to the bytes of each. Of classes: of each such rank.
void add_to_members(const Transfer& transfer, const GroupCall& call, std::vector<RankBytes>& bytes);

/// The bytes of each member of a call.
std::vector<RankBytes> member_bytes(const GroupCall& call);

/// The bytes of a call through each network card, the intra-node link of each rank, and the uplinks
/// of blocks.
struct LinkLoads {
  struct Uplinks {
    std::vector<double> out, in;  ///< by block
  };
  std::vector<double> card_out, card_in;  ///< by moe::network_card
  std::vector<double> rank_out, rank_in;  ///< by rank, within its node
  std::vector<Uplinks> levels;            ///< above the nodes
};
LinkLoads link_loads(const GroupCall& call, const moe::Groups& groups);
/// Adds those of a call to `loads`.
void add_link_loads(const GroupCall& call, const moe::Groups& groups, LinkLoads& loads);

/// The bytes from rank to rank of a node. In a call with bytes by rank, those to (from) the others
/// are alike.
using PairLoads = std::map<std::pair<int, int>, double>;
void add_pair_loads(const GroupCall& call, const moe::Groups& groups, PairLoads& loads);

}  // namespace tuner
