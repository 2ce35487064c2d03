#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"
#include "tuner/costs/cluster.h"

namespace tuner {

/// The machine and network that a run of `moe-bench` measured.
struct MeasuredOn {
  std::int64_t machine_id = 0;  ///< its row in the database; 0 where it is not known
  std::string network;          ///< db/network.h; empty where it is not known
  int nodes = 0;                ///< 0 where it is not known

  friend auto operator<=>(const MeasuredOn&, const MeasuredOn&) = default;
};

/// Fits the rows of microbenchmark sweeps, with the verdict on each. Rows that were measured on
/// different machines, networks or numbers of nodes are never one fit; products and copies do not
/// depend on the network. The fits are ordered by these, those with the newest run last, then by
/// op, device, ranks and link.
///
/// The units are
///   GEMMs             flops; they give a fit of their op kind and one of all together, "gemm",
///                     with an alpha for each expert's product. Those of bf16 and f64 are fits
///                     of their own, "linear_bf16" and "gemm_bf16"
///   collectives       the bytes on the wire at each rank (bus_factor in moe/ops/collective.h)
///   "host_copy"       bytes read and written (2 S); it becomes the fit "memory" of a processor
///   "device_add"      bytes read and written (3 S); it becomes the fit "memory" of a device
///   "host_to_device"  bytes read and written; it becomes the fit of "fetch_rows"
///   "device_to_host"  bytes read and written; it becomes the fit of "offload_rows"
///   "interference"    seconds alone: "computation_beside_copy" and so on, with beta
///                     1 / alpha(y, x), of the newest run that has the pair, since it depends on
///                     how the ranks of a run share cores. Its deviation is that of the rounds
/// link = "inter_node" where the run had ranks on several nodes, else "intra_node". Rows with wrong
/// values, and times that are not positive, are left out.
///
/// `measured_on` is by run; a run that is not listed is on one node of a machine that is not known.
/// Throws moe::Refusal where the runs of one fit of a collective had links of different rates, as
/// they may where no run tells its network.
std::vector<db::Fit> fit_measurements(std::span<const db::Measurement> measurements,
                                      const std::map<std::int64_t, MeasuredOn>& measured_on);

/// The bytes on the wire at each rank for `bytes` of nccl-tests' size; none where `op` is not a
/// collective.
std::optional<double> wire_bytes(const std::string& op, double bytes, int ranks);

/// A fit as a row of the database, and back.
db::Fit to_record(const std::string& key, const LinearFit& fit, const std::string& device,
                  int ranks);
LinearFit from_record(const db::Fit& record);
/// The fits of `now` that are not those of `before`, as rows.
std::vector<db::Fit> changed_fits(const CostModel& before, const CostModel& now, int ranks);

/// The costs of `device` from stored fits, those of interference included; the first of several
/// fits for one key counts. The bandwidth of a link is the highest that a collective reached on it.
CostedCluster measured_cluster(std::span<const db::Fit> fits, std::string name, std::string device,
                               int nodes, int ranks_per_node);

}  // namespace tuner
