#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/costs/beside.h"
#include "tuner/costs/calibrate.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/message_buffers.h"

namespace tuner {

/// A call that began beside far larger ones between nodes.
struct CallBesideLarger {
  Sample sample;
  double others_left_s = 0;  ///< how long the larger ones went on after it began
};

/// The executions of ops of one shape that compute or copy.
struct ShapeObservations {
  std::string kind;       ///< costed_kind()
  bool copies = false;    ///< else computes
  bool by_flops = false;  ///< its units are flops, else bytes
  std::vector<Observation> all;
};

/// What measured iterations show, before anything is fitted to it.
struct Observations {
  std::map<std::string, ShapeObservations> compute;             ///< by shape
  std::map<std::string, std::vector<Observation>> calls;        ///< by link_key
  std::map<std::string, std::vector<CallBesideLarger>> queued;  ///< by link_key
  std::map<std::string, std::vector<LastToCome>> last_to_come;  ///< by link_key
  /// The largest of a rank inside its node, in calls that cross nodes too: such a link has at least
  /// this rate. 0 where there was none.
  double least_intra_node_bytes_per_s = 0;
  std::vector<double> launch_gaps;  ///< from when an op might start to its start
};

/// What these iterations show, of ranks that share processors in this way. `device` is the one of
/// CostModel.
Observations observe(std::span<const MeasuredIteration> iterations,
                     const std::vector<SharedProcessors>& shared_processors,
                     std::string_view device);

}  // namespace tuner
