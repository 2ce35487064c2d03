#pragma once

#include <optional>

#include "tuner/scenario/measured_costs.h"

namespace tuner {

/// What is asked of the nodes of a measured machine.
struct AskedNodes {
  std::optional<int> nodes = {};
  /// Of a network card.
  std::optional<double> bandwidth_bytes_per_s = {}, latency_s = {};
};

/// The measured machine with so many nodes, each as those that were measured: computation, copies,
/// interference and what stays inside a node cost what they cost there. A remark says what was
/// assumed.
///
/// Between nodes
///   - costs are those that were measured there, at the asked rate and latency where these are asked
///     for (over_changed_link);
///   - where one node was measured, each collective costs what it costs inside it, at the rate and
///     the latency that are asked for. The ranks of a node share its cards.
///
/// Ranks that shared processors inside a node do so in each; where nodes shared them (a box), the
/// ranks of all nodes do. Throws moe::InputError where one node was measured and rate or latency
/// between nodes is not asked for, or nothing is known of a link to change.
MeasuredCosts with_nodes(MeasuredCosts measured, const AskedNodes& asked);

}  // namespace tuner
