#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

/// What passes before an op begins that nothing else holds up.
struct LaunchGaps {
  /// Between the moment when an op may start and its start, for issuing it and for waking the
  /// thread of its stream.
  double launch_s = 0;
  /// Between nodes, before the first message of a collective that begins while another is sending
  /// through the same network card. Its messages wait for those that the card was given before.
  double queued_s = 0;
};

/// What the messages of an exchange of rows or counts need not wait for, between two ranks of
/// different nodes. Such messages do not depend on each other, so a rank's first ones travel before
/// the last rank arrives, and a rank goes on while its last ones still leave. Both are 0 where an
/// exchange begins and ends as one.
struct MessageBuffers {
  /// A rank leaves the exchange when no more than this is still on its way to a peer.
  double leaving_bytes = 0;
  /// So much travels to a peer before that arrives.
  double ahead_bytes = 0;

  bool any() const { return leaving_bytes > 0 || ahead_bytes > 0; }
};

/// [rank]: how many times as long computation took in one iteration as the fits say.
using Slowdowns = std::vector<double>;

/// The costs of ops on one device and network: fits of their times, the interference between them,
/// and how unequally fast ranks compute.
///
/// Computation: seconds = alpha * calls + beta * units, with the calls and units of moe::work_of.
/// Units are flops for matrix products and bytes for everything else. A fit is looked up from the
/// special to the general: the op's kind with its shape ("expert_linear[256x1024]", as calibrate()
/// writes it), its kind ("expert_linear"), then "gemm" or "memory" by its units. Copies: their
/// shape, their kind, "copy", "memory"; units are the bytes read and written.
/// An op that computes with numbers in bf16 or f64 has fits of its own:
/// "expert_linear_bf16[256x1024]", "expert_linear_bf16", "gemm_bf16". Only "memory", whose units
/// are bytes, serves all.
///
/// Communication: from the arrival of the last participant, seconds = alpha + beta * bytes, where
/// bytes is the larger of the bytes sent and received by a rank on that link. The keys are
/// "all_to_all/inter_node" and "all_to_all/intra_node"; without a fit, latency and bandwidth of the
/// cluster's link apply.
struct CostModel {
  std::string device = "cpu";
  std::map<std::string, LinearFit, std::less<>> fits;
  /// The fits that a cluster's file calls measured; its others are from data sheets.
  std::set<std::string, std::less<>> measured;
  Interference interference;
  LaunchGaps gaps;
  MessageBuffers buffers;
  /// [iteration][rank]: of profiled iterations, at most kMostSlowdowns (machine/slowdown.h). Empty:
  /// all ranks compute as the fits say.
  std::vector<Slowdowns> slowdowns;
  /// The relative deviation of a trial from what these costs predict (machine/deviation.h); none
  /// where they come from no profile.
  std::optional<double> deviation;
};

/// True where the units of a computing op are flops, false where they are bytes.
bool costs_by_flops(const moe::Op& op);
/// The flops or bytes of `op` on `rank`, and its calls on a device ("cpu", "cuda").
Sample units_of(const moe::Program& program, const moe::Op& op, const moe::Binding& binding,
                const moe::Groups& groups, int rank, std::string_view device);

/// The types of numbers, beside f32, whose fits have the type in their name.
inline constexpr std::array kTypesWithFits{moe::DType::bf16, moe::DType::f64};
/// "linear" in f32, "linear_bf16" and "linear_f64" in these types.
std::string fit_of_type(std::string_view fit, std::string_view dtype);
/// The type whose numbers a fit of this name is of: "bf16" of "linear_bf16".
std::string_view type_of_fit(std::string_view fit);

/// "linear", or "linear_bf16" where an operand is in bf16 and the op computes.
std::string costed_kind(const moe::Program& program, const moe::Op& op);
/// "expert_linear[256x1024]": the costed kind with the widths of its operands, and the number of
/// rows where it does not depend on routing.
std::string shape_key(const moe::Program& program, const moe::Op& op);
std::string link_key(std::string_view op, std::string_view link);

/// The keys of general fits for an op, the closest first: {"gemm"}, {"memory"}, or {"copy",
/// "memory"} for copies. Without the precision of "gemm".
std::vector<std::string_view> general_fits(const moe::OpFacts& facts);
/// "gemm", "gemm_bf16" or "gemm_f64": the fit of all products with numbers of this type.
std::string gemm_fit(std::string_view dtype);
/// The key of the fit by which `op`, which computes or copies, is costed. Throws moe::Refusal
/// with the op kind and with how to measure it.
const std::string& fit_key(const CostModel& costs, const moe::Program& program, const moe::Op& op);

/// The time of a computing op on `rank` where nothing else runs. Throws as fit_key.
double seconds(const CostModel& costs, const moe::Program& program, const moe::Op& op,
               const moe::Binding& binding, const moe::Groups& groups, int rank);

/// The name under which measurements of a collective stand: its kind, or "broadcast" and "reduce"
/// for the parameters and gradients of experts that travel on rings.
std::string_view collective_name(const moe::Op& op);

/// A key and its fit.
using CollectiveFit = std::pair<const std::string, LinearFit>;
/// The fit of a collective on a link, or none. It is the fit of its kind where there is one; of
/// experts on rings only where a cluster's file tells it, with the time in which a ring fills. Else
/// an op that exchanges routed rows has that of all_to_all, which is the same call
/// (Communicator::all_to_all_v). Else gather_rows and gather_shares have that of
/// all_gather, which sends the same messages, and scatter_rows and reduce_shares that of
/// reduce_scatter, which also adds. Experts on rings have the
/// fit of broadcast or reduce. A reduce without one has that of broadcast. Else both have that of
/// all_to_all, which sends as many bytes through the busiest card (is_of_chains).
const CollectiveFit* collective_fit(const CostModel& costs, const moe::Op& op,
                                    std::string_view link);

/// True where a fit is of arrays that pass along all ranks, or of a whole op that sends experts, so
/// that alpha has the time in which a chain of ranks fills.
bool is_of_chains(const CollectiveFit& fit);

std::string to_json(const CostModel& costs);
/// Throws moe::InputError.
CostModel cost_model_from_json(std::string_view json);

}  // namespace tuner
