#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/element_share.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/tensor.h"

namespace moe {

/// One expert's block of rows on its way between two members of an expert group: block `block` of
/// the tensor of member `from` becomes block `to_block` of the tensor of member `to`.
struct ExpertMove {
  int from = 0, block = 0;
  int to = 0, to_block = 0;
  int hop = 0;  ///< on a ring: how many members stand between the home and this move; else 0
};

/// The holders of an expert in the order in which its ring passes them.
std::vector<int> ring_order(int home, std::vector<int> holders);

/// Sends the parameters of replicated experts from their homes (tensors of D blocks) to the holders
/// of their replicas (tensors of G blocks). Ordered by expert, then holder; on rings by expert,
/// then hop. From hop 1 on a holder sends what it got.
std::vector<ExpertMove> moves_to_replicas(const ExpertSlots& slots);
/// Sends the gradients of replicas (tensors of G blocks) to the homes of their experts, where every
/// replica's gradient gets a block of its own, or every expert's on rings. Ordered alike. From hop
/// 1 on a holder adds what it gets to its own gradient, and sends the sum.
std::vector<ExpertMove> moves_home(const ExpertSlots& slots);
/// The largest number of blocks that moves_home brings to one home.
int most_returned(const ExpertSlots& slots);
/// [block that moves_home brings to `member`]: the slot of the expert that it belongs to.
std::vector<int> returned_to(const ExpertSlots& slots, int member);

/// The moves from one assignment of homes to another, for tensors of D blocks on both sides,
/// ordered by expert. An expert that stays on its member but in another slot moves too. Throws as
/// expert_slots.
std::vector<ExpertMove> moves_between_homes(const ExpertHomes& from, const ExpertHomes& to,
                                            int experts, int members);

/// The elements of a share of one block, in a tensor made of blocks of `block_rows` rows.
ElementRange elements_of(std::int64_t block_rows, std::int64_t columns, int block, Slice share);

}  // namespace moe
