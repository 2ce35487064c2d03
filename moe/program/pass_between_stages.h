#pragma once

#include <optional>

#include "moe/program/program.h"

namespace moe {

/// The kind of group in which these two stages pass rows to each other: neighbours, or the first and
/// the last one. None for stages that have no such group.
std::optional<GroupKind> boundary_between(const Groups& groups, int stage, int other);

/// Adds a PassOn wherever an op of forward or backward reads rows that another pipeline stage has
/// made: before the first op of the reader's block in that phase and micro-batch. Every stage gets
/// the same rows once. Throws std::logic_error where the two stages cannot pass rows to each other
/// (boundary_between).
void pass_between_stages(Program& program);

/// Takes all PassOns out: ops read the rows of the stage that made them. The tensors that rows were
/// passed on to stay without users.
void without_passing(Program& program);

}  // namespace moe
