#pragma once

#include <cstddef>
#include <string>

#include "moe/program/program.h"

/// What decisions need to know of the op by which a gate chooses.
namespace moe {

/// True for ops that give copies of tokens to experts: they write expert i32[T,k], weight[T,k],
/// slot i32[T,k], offsets i32[1,E+1], demand i32[1,E] first.
bool chooses_experts(const Op& op);

/// Why an op that chooses experts cannot be cut along the batch, and what could be; empty where it
/// can, and for other ops.
std::string refusal_to_cut(const Op& op);

/// True for ops that leave each part of the batch slots, offsets and demand of its own copies, as
/// it is cut.
bool deals_out_copies(const Op& op);

/// True for what routes a MoE layer, or works on its routed rows.
bool belongs_to_routing(const Program& program, const Op& op);

/// Puts a SplitSelection behind the op at `choice`, which chooses experts. What follows uses slots,
/// offsets and demand as that leaves them, so that ops behind the gate can be cut along the batch
/// where the gate cannot. Values do not change.
void split_selection(Program& program, std::size_t choice);

}  // namespace moe
