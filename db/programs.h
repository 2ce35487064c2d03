#pragma once

#include <cstdint>
#include <span>

#include "db/connection.h"
#include "db/records.h"

/// What timelines share is stored once by its content, under a hash of it: a program (the ops of a
/// schedule, what they wait for, which ranks communicate, its tensors) and memory plans (sizes and
/// offsets of a rank's tensors, and between which ops each is in use). The views timeline_op,
/// op_edge, rank_group, timeline_tensor and allocation show them for every timeline. Every function
/// is a part of the caller's Transaction and throws Error.
namespace db {

/// Notes what a stored timeline that has none yet is of.
void store_program(Connection&, std::int64_t timeline_id, std::span<const TimelineOp>,
                   std::span<const OpEdge>, std::span<const RankGroup>,
                   std::span<const TimelineTensor>);
void store_memory_plans(Connection&, std::int64_t timeline_id, std::span<const Allocation>);

/// Forgets of which program and memory plans a timeline is.
void forget_program(Connection&, std::int64_t timeline_id);

/// Removes the programs and memory plans that no timeline has. Returns how many.
std::int64_t remove_unused_programs(Connection&);

/// The tables that hold them.
std::span<const char* const> tables_of_programs();

/// Moves the rows of the tables of version 7, which has one for each of those views, to programs
/// and memory plans, and removes these tables. Says how far it is where it takes long.
void share_programs(Connection&);

}  // namespace db
