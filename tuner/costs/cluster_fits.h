#pragma once

#include <string>
#include <vector>

#include "moe/input/value.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

/// The fits of a cluster's file.
namespace tuner {

/// Reads the tables [fit.NAME] of a cluster's file, which has `links` ("inter_node" and
/// "intra_node", or one of them). Throws moe::InputError where NAME is neither a general fit nor a
/// kind of op, where a unit is not that of the op, where a fit of communication names no link
/// though there are two, where one of computation names a link, and where an op takes no time, or a
/// byte on a link none. `cluster`: its device, nodes and cards, by which tables of benchmarks are
/// counted.
void read_fits(const moe::InputObject& fits, const std::vector<std::string>& links,
               const Cluster& cluster, CostModel& costs);

/// Throws moe::InputError where a fit of `costs`, read from `fits`, is faster than its link of
/// `cluster` by more than figures of two digits are rounded: predictions could not follow both.
void check_rates(const moe::InputObject& fits, const Cluster& cluster, const CostModel& costs);

/// The fit over a link that was `before`, which had a bandwidth, and is `now`: its time by the byte
/// falls as the bandwidth grows, and its startup follows the latency, in proportion where there was
/// one. What a point takes beyond the time of its bytes at the old bandwidth is startup at most.
LinearFit over_changed_link(const LinearFit& fit, const Link& before, const Link& now);

/// True for a fit that stands for ops of many kinds or models: "gemm", "memory", "copy", and those
/// of MPI's collectives. `key`: as CostModel::fits has it.
bool is_general_fit(std::string_view key);

}  // namespace tuner
