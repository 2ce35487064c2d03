#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/expert_slots.h"
#include "moe/rows/tensor.h"

namespace moe {

/// One expert's block of rows on its way between members of an expert group: block `block` of the tensor of one becomes
/// block `to_block` of the tensor of the other.
struct ExpertMove {
  int from = 0, block = 0;
  int to = 0, to_block = 0;
};

/// Parameters from the members that experts belong to, [D] blocks, to those that have them as guests, [G] blocks; by
/// expert, then holder.
std::vector<ExpertMove> moves_to_guests(const ExpertSlots& slots);
/// Gradients from the guests, [G] blocks, to where their experts belong: a block for each, by expert, then holder.
std::vector<ExpertMove> moves_home(const ExpertSlots& slots);
/// Blocks that a member gets so at most.
int most_returned(const ExpertSlots& slots);
/// By block that comes home to a member: which of its own experts it is of.
std::vector<int> returned_to(const ExpertSlots& slots, int member);

/// What lies elsewhere, on its member or on another, when experts change their homes: [D] blocks to [D] blocks, by expert.
/// Throws as expert_slots.
std::vector<ExpertMove> moves_between_homes(const ExpertHomes& from, const ExpertHomes& to,
                                            int experts, int members);

/// Elements [begin, begin + count) of a tensor.
struct ElementRange {
  std::int64_t begin = 0, count = 0;
};
/// Of a tensor of blocks of `block_rows` rows: the share of the block's rows.
ElementRange elements_of(std::int64_t block_rows, std::int64_t columns, int block, Slice share);

}  // namespace moe
