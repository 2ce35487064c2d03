#pragma once

#include <vector>

#include "moe/rows/row_layout.h"

/// An exchange brings rows from their source to the rank of their expert, at once or in legs by way of other
/// ranks. Who has the rows of a source for an expert, by what the rows of a tensor are:
///
///   Rows::sent             the source
///   Rows::relayed          2DH: of the source's node, the rank that has the destination's place in its node
///   Rows::leader_sent      1DH: the first rank of the source's node
///   Rows::leader_received  1DH: the first rank of the destination's node
///   Rows::received         the destination
///
/// (Tutel's and DeepSpeed's 2DH, Hetu's 1DH; code.) A dispatch goes down this list, a combine up. Every rank has
/// its rows ordered by expert, then piece, then source, then slot, or by local expert of who computes them: what
/// published codes reorder between legs already lies right, because a leg takes its rows from where they are to where
/// they belong.
namespace moe {

/// What this rank sends in the leg that brings slice `slice` of what rows `from` are to what rows `to` are; peers
/// by their index in the group of that kind. Rows that are neighbours at both ends are one segment.
std::vector<Segment> leg_sends(const RowLayout& layout, Slice slice, Rows from, Rows to,
                               GroupKind group);
/// What this rank receives in it.
std::vector<Segment> leg_receives(const RowLayout& layout, Slice slice, Rows from, Rows to,
                                  GroupKind group);

}  // namespace moe
