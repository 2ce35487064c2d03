#pragma once

#include <vector>

#include "moe/program/op.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"

/// Which calls begin and end message by message (MessageBuffers), and how long they take at least.
namespace tuner {

/// True for exchanges of rows and of counts: none of their messages depends on another one.
bool sends_messages_apart(const moe::Op& op);

/// Whether the call begins and ends message by message. Calls inside a node, those with bytes by
/// rank and those of classes of ranks begin and end as one.
bool uses_buffers(const OpCost& cost, const GroupCall& call);

/// The least time from the arrival of the last member to the end of each. It is less than
/// member_seconds() where messages go ahead of that arrival, or still leave when a member goes on.
///
/// With a bytes ahead and l bytes that still leave, if another member is the last one, what a
/// member sends to that one takes its bytes less a + l, and what it gets from it takes all of its
/// bytes. If the member is the last one itself, it sends its bytes less l for each peer, and gets
/// them less a for each. It is the least of these, since nobody knows who comes last.
std::vector<double> least_member_seconds(const OpCost& cost, const GroupCall& call,
                                         const Cluster& cluster);

}  // namespace tuner
