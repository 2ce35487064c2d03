#pragma once

#include <vector>

#include "moe/rows/row_layout.h"

/// An exchange brings rows from their source to the rank that computes their expert, either at once
/// or in legs by way of other ranks. Between legs, the kind of a tensor's rows tells which rank has
/// the rows from a source to a destination:
///
///   Rows::sent             the source
///   Rows::relayed          2DH: the rank of the source's node that has the destination's place in
///                          its node
///   Rows::leader_sent      1DH: the first rank of the source's node
///   Rows::leader_received  1DH: the first rank of the destination's node
///   Rows::received         the destination
///
/// (Tutel's and DeepSpeed's 2DH, Hetu's 1DH; their code.) A dispatch goes down this list, a combine
/// goes up. Every rank keeps its rows ordered by destination and expert, then piece, then source
/// (row_layout.h). Published codes reorder rows between legs; here every leg takes its rows from
/// where they lie to where they belong, so nothing is reordered.
namespace moe {

/// The segments that this rank sends in the leg that brings a slice of the rows from kind `from` to
/// kind `to`. Peers are indices in the group of kind `group`. Rows that are neighbours at both ends
/// are one segment.
std::vector<Segment> leg_sends(const RowLayout& layout, Slice slice, Rows from, Rows to,
                               GroupKind group);
/// The segments that this rank receives in that leg.
std::vector<Segment> leg_receives(const RowLayout& layout, Slice slice, Rows from, Rows to,
                                  GroupKind group);

}  // namespace moe
