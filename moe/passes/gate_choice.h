#pragma once

#include <cstddef>
#include <optional>

#include "moe/errors.h"
#include "moe/program/program.h"

/// What decisions need to know about the op in which a gate chooses experts.
namespace moe {

/// True for ops that assign copies of tokens to experts. Their first writes are expert i32[T,k],
/// weight[T,k], slot i32[T,k], offsets i32[1,E+1] and demand i32[1,E].
bool chooses_experts(const Op& op);

/// Why an op that chooses experts cannot be cut along the batch; none where it can, and for other
/// ops.
std::optional<Refusal> refusal_to_cut(const Op& op);

/// True for ops that, when cut, give each part of the batch the slots, offsets and demand of its
/// own copies.
bool deals_out_copies(const Op& op);

/// True for ops whose results describe the copies of the tokens that they see: where each part of
/// the batch has an op of its own, it has such results of its own.
bool describes_copies(const Op& op);

/// True for an op that routes a MoE layer or works on its routed rows.
bool belongs_to_routing(const Program& program, const Op& op);

/// Puts a SplitSelection after the op at `choice`, which chooses experts. The ops that follow use
/// the slots, offsets and demand that it writes, so that they can be cut along the batch although
/// the gate cannot. Values do not change.
void split_selection(Program& program, std::size_t choice);

}  // namespace moe
