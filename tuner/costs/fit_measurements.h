#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"
#include "tuner/costs/cluster.h"

namespace tuner {

/// Fits from the rows of a microbenchmark sweep: one per (op, device, ranks, link), ordered so.
///
/// Units: flops for GEMMs, which become a fit of their op kind and, all together, "gemm", with an
/// alpha for each expert's product; for a collective the bytes that cross the wire at each rank
/// (bus_factor in moe/ops/collective.h); bytes read and written
/// (2 S) for "host_copy", which becomes the fit "memory", and for "host_to_device" and "device_to_host", which become
/// those of "fetch_rows" and "offload_rows"; for "interference" seconds alone: "computation_beside_copy", whose beta
/// is 1 / alpha(y, x), of the newest run that has the pair, as it depends on how the ranks of a run share cores.
/// link = "inter_node" where the run had
/// ranks on several nodes, else "intra_node". Rows with wrong values, and times that are not
/// positive, are left out. `nodes_of_run`: how many nodes each run's ranks were on; 1 where a run
/// is not listed.
std::vector<db::Fit> fit_measurements(std::span<const db::Measurement> measurements,
                                      const std::map<std::int64_t, int>& nodes_of_run);

/// Bytes on the wire at each rank for `bytes` of nccl-tests' size; none where `op` is no
/// collective.
std::optional<double> wire_bytes(const std::string& op, double bytes, int ranks);

/// The same as a row, and back.
db::Fit to_record(const std::string& key, const LinearFit& fit, const std::string& device,
                  int ranks);
LinearFit from_record(const db::Fit& record);

/// Costs of `device` from stored fits, interference among them; of several for one key the first. Links of the cluster: the bandwidth that
/// the fastest collective on it reached.
CostedCluster measured_cluster(std::span<const db::Fit> fits, std::string name, std::string device,
                               int nodes, int ranks_per_node);

}  // namespace tuner
