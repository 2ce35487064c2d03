#pragma once

#include <cstdint>

#include "moe/communicator/collectives/messages.h"

/// The collectives of host communicators, over MPI and between threads, one algorithm a file. Blocks travel directly from their
/// owner to each rank that needs them, in as few rounds as possible, because each round costs the
/// wait of a rank that tests and sleeps. n = ranks, S = bytes of the whole array. The bytes given
/// here are what each rank sends, and also what it receives. They assume a switch that lets all
/// pairs talk at once, so that network cards are the limit. Where several ranks share a card,
/// all-reduce and all-gather work by node (by_node.h): all ranks together send as many bytes, fewer
/// of them through cards. MPI's own non-blocking collectives are not used. Waited for in this way
/// they reach a quarter (reduce-scatter) to a third (broadcast) of the link's rate
/// (experiments/collectives), and they add in another order.
///
/// Every reduction adds in one order: inside each node in rank order, then the sums of the nodes
/// (sum_parts in reduce_fragments.h). With one rank on each node, or one node, that is rank order.
namespace moe {

/// 1 round; the bytes of the segments. Peers are served in the order rank + 1, rank + 2, ..., so
/// that no rank is everybody's first.
void carry_out(Group& group, const collective::AllToAllV& c, const CallContext& call);

/// 1 round, S (n-1)/n bytes: every rank sends its block to every other.
void carry_out(Group& group, const collective::AllGather& c, const CallContext& call);

/// 1 round, S (n-1)/n bytes: every rank sends block p to rank p, which adds. A fragment is added
/// while the next one travels. Scratch holds 4 fragments from each peer.
void carry_out(Group& group, const collective::ReduceScatter& c, const CallContext& call);

/// 2 rounds, 2 S (n-1)/n bytes: reduce-scatter, then all-gather, fragment by fragment, so that
/// adding and both rounds overlap. Short arrays take 1 round of S (n-1) bytes: every rank sends
/// everything to every other. The same bits on every rank.
void carry_out(Group& group, const collective::AllReduce& c, const CallContext& call);

/// 2 rounds, S bytes from the root and S (n-2)/(n-1) from every other: fragment i goes to one rank,
/// which passes it on to the rest while the next fragments travel. Short arrays and 2 ranks: 1
/// round, S (n-1) bytes from the root.
void carry_out(Group& group, const collective::Broadcast& c, const CallContext& call);

/// 2 rounds, S bytes from every rank: each rank but the root adds a share of every fragment and
/// sends its sum to the root. So the root receives S bytes and not S (n-1). Short arrays and 2
/// ranks: 1 round, S bytes from every rank but the root, which adds. The bits of all-reduce.
void carry_out(Group& group, const collective::Reduce& c, const CallContext& call);

/// The bytes of every chain from each of its ranks but the last, fragment by fragment
/// (communicator/chain.h). A fragment that arrives is sent on before the next ones are there.
void carry_out(Group& group, const collective::ChainBroadcast& c, const CallContext& call);

/// The bytes of every chain from each of its ranks but the root, likewise. A rank adds its own
/// elements to a fragment that arrives. Scratch holds 8 fragments.
void carry_out(Group& group, const collective::ChainReduce& c, const CallContext& call);

/// 1 round; the bytes of the other ranks' shares: every rank sends each share to the rank that owns
/// it, which adds. The shares of short arrays travel beside each other. Scratch as reduce-scatter.
void carry_out(Group& group, const collective::ReduceShares& c, const CallContext& call);

/// 1 round; n-1 times the bytes of a rank's shares, to every other rank. Where ranks share network
/// cards, long arrays travel as all-gather does.
void carry_out(Group& group, const collective::GatherShares& c, const CallContext& call);

/// 1 round of empty messages between all pairs: a time limit names exactly those who did not come.
void carry_out(Group& group, const collective::Barrier& c, const CallContext& call);

}  // namespace moe
