#pragma once

#include <string>
#include <vector>

#include "moe/input/value.h"
#include "tuner/costs/cost_model.h"

/// The fits of a cluster's file.
namespace tuner {

/// What changed of a link against the file: a factor of its bandwidth, and its latencies.
struct LinkChange {
  double bandwidth_factor = 1;
  double old_latency_s = 0;
  double latency_s = 0;
};

/// Reads the tables [fit.NAME] of a cluster's file, which has `links` ("inter_node" and
/// "intra_node", or one of them). Throws moe::InputError where NAME is neither a general fit nor a
/// kind of op, where a unit is not that of the op, where a fit of communication names no link
/// though there are two, and where one of computation names a link.
void read_fits(const moe::InputObject& fits, const std::vector<std::string>& links,
               CostModel& costs);

/// The fit over a changed link: its time by the byte falls as the bandwidth grows, and its startup
/// follows the latency, in proportion where there was one.
LinearFit over_changed_link(const LinearFit& fit, const LinkChange& change);

/// True for a fit that stands for ops of many kinds or models: "gemm", "memory", "copy", and those
/// of MPI's collectives. `key`: as CostModel::fits has it.
bool is_general_fit(std::string_view key);

}  // namespace tuner
