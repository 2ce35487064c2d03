#pragma once

#include <cstddef>
#include <cstdint>

#include "moe/program/program.h"

/// The host's memory that activations are offloaded to: as much as the plan of Pool::host needs.
namespace moe {

struct RunState;

/// Bytes [begin, end) of the plan of Pool::host.
struct HostBlock {
  std::int64_t begin = 0, end = 0;
  std::byte* memory = nullptr;
};

/// Makes room for what the state's Program offloads; called when nothing runs. Where only routing
/// tells how much that is, there is room for the rows of even routing, which are tokens x choices
/// on every rank, and a quarter more.
void make_host_blocks(RunState& state);

/// Adds a block for the tensors that have places in none, a quarter larger than they need. Blocks
/// that are there stay where they are, since ops under way use them. Throws OutOfMemory where the
/// plan exceeds RunOptions::host_memory_limit_bytes.
void grow_host_blocks(RunState& state);

/// Makes one block of several, of the same bytes of the plan; called when nothing runs.
void join_host_blocks(RunState& state);

/// Extends what is measured (TouchedMemory) as far as the plan goes.
void cover_host_blocks(RunState& state);

/// Where an offloaded tensor lies.
std::byte* host_place(const RunState& state, TensorId tensor);

}  // namespace moe
