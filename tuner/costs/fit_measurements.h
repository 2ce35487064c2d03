#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"
#include "tuner/costs/fit.h"

namespace tuner {

/// The machine and network that a run of `moe-bench` measured.
struct MeasuredOn {
  std::int64_t machine_id = 0;  ///< its row in the database; 0 where it is not known
  std::string network;          ///< db/network.h; empty where it is not known
  int nodes = 0;                ///< 0 where it is not known

  friend auto operator<=>(const MeasuredOn&, const MeasuredOn&) = default;
};

struct MeasuredFit {
  LinearFit fit;
  db::Fit record;               ///< the fit as a row, with what it was measured on
  std::vector<Sample> samples;  ///< that it is of, outliers among them
  double units_per_byte = 0;    ///< of a row's `bytes`; 0 where units are no bytes
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
///   collectives       the bytes on the wire at each rank, of several nodes between them alone
///                     (link_factor in db/collective_facts.h)
///   "host_copy"       bytes read and written (2 S); it becomes the fit "memory" of a processor
///   "device_add"      bytes read and written (3 S); it becomes the fit "memory" of a device
///   "host_to_device"  bytes read and written; it becomes the fit of "fetch_rows"
///   "device_to_host"  bytes read and written; it becomes the fit of "offload_rows"
///   "interference"    seconds alone: "computation_beside_copy" and so on, with beta
///                     1 / alpha(y, x), of the newest run that has the pair, since it depends on
///                     how the ranks of a run share cores. Its samples are the rounds
/// link = "inter_node" where the run had ranks on several nodes, else "intra_node". Rows with wrong
/// values, and times that are not positive, are left out.
///
/// `measured_on` is by run; a run that is not listed is on one node of a machine that is not known.
std::vector<MeasuredFit> fit_measurements(std::span<const db::Measurement> measurements,
                                          const std::map<std::int64_t, MeasuredOn>& measured_on);

}  // namespace tuner
