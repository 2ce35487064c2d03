#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "tuner/costs/fit.h"
#include "tuner/costs/interference.h"

namespace tuner {

/// Time that passes between an op's being ready and its start: issuing it, waking the thread of its
/// stream.
struct LaunchGaps {
  double same_stream_s = 0;   ///< after an op of the same stream
  double other_stream_s = 0;  ///< after an op of another stream
  double routing_s = 0;       ///< after the exchange of counts: sizes, places and messages are made
  /// Of a collective after one of its stream whose end has also let computation go on: the rank's
  /// host threads share its cores, and the one that computes goes first.
  double contended_s = 0;
};

/// What ops cost on one device and network: fits, and what slows them down.
///
/// Computation: seconds = alpha * calls + beta * units with calls and units of moe::work_of: flops
/// for matrix products, bytes for everything else. A fit is looked up from the special to the
/// general: the op's kind with its shape ("expert_linear[256x1024]", what calibrate() writes), its
/// kind ("expert_linear"), then "gemm" or "memory", whichever its units are. Copies: their shape, their
/// kind, "copy", "memory"; bytes read and written.
///
/// Communication: after the last participant has arrived, seconds = alpha + beta * bytes, bytes the
/// larger of sent and received by a rank on that link. Keys "all_to_all/inter_node" and
/// "all_to_all/intra_node"; without a fit, the cluster's link speaks for itself.
struct CostModel {
  std::string device = "cpu";
  std::map<std::string, LinearFit, std::less<>> fits;
  Interference interference;
  LaunchGaps gaps;
  /// Relative standard deviation with which these costs predict the profile that they come from
  /// (study/deviation.h); none where they come from none.
  std::optional<double> profile_deviation;
};

/// True where flops, false where bytes, are the units of a computing op.
bool costs_by_flops(const moe::Op& op);
/// Flops or bytes of `op` on `rank`, and its calls.
Sample units_of(const moe::Program& program, const moe::Op& op, const moe::Binding& binding,
                const moe::Groups& groups, int rank);

/// "expert_linear[256x1024]": the kind with the widths of what it reads and writes, and the number
/// of rows where it does not depend on routing.
std::string shape_key(const moe::Program& program, const moe::Op& op);
std::string link_key(std::string_view op, std::string_view link);

/// Fits of all ops alike, the likest first: {"gemm"}, {"memory"}, of copies {"copy", "memory"}.
std::vector<std::string_view> general_fits(const moe::OpFacts& facts);
/// The key of the fit that `op` (that computes or copies) is costed with. Throws std::out_of_range naming
/// the op kind and saying how to measure it.
const std::string& fit_key(const CostModel& costs, const moe::Program& program, const moe::Op& op);

/// Time of a computing op on `rank` with the device to itself. Throws as fit_key.
double seconds(const CostModel& costs, const moe::Program& program, const moe::Op& op,
               const moe::Binding& binding, const moe::Groups& groups, int rank);

/// Key and fit.
using CollectiveFit = std::pair<const std::string, LinearFit>;
/// The fit of a collective on a link, if there is one: that of its kind. Where it has none, whatever exchanges
/// routed rows is costed as an all_to_all, which is the same call (Communicator::all_to_all_v); and where that has
/// none, gather_rows as an all_gather, which sends the same messages, and scatter_rows as a reduce_scatter, which
/// adds as well.
const CollectiveFit* collective_fit(const CostModel& costs, const moe::Op& op,
                                    std::string_view link);

/// How fast a computing op of this kind runs beside communication, where that was measured of it.
std::optional<double> speed_beside_communication(const Interference& interference,
                                                 std::string_view kind);

/// Which fits a prediction of `program` rests on, one line each: "linear[64x192]: linear, r2 0.998,
/// extrapolated". Ordered, without repetition.
std::vector<std::string> fits_used(const CostModel& costs, const moe::Program& program,
                                   const moe::Binding& binding, const moe::Groups& groups);

std::string to_json(const CostModel& costs);
/// Throws moe::InputError.
CostModel cost_model_from_json(std::string_view json);

}  // namespace tuner
