#pragma once

#include <span>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// One iteration as it really ran: the scheduled Program, the rows it moved, and its spans.
struct MeasuredIteration {
  const moe::Program* program = nullptr;
  std::vector<moe::Binding> bindings;  ///< by rank
  moe::Timeline timeline;
};

/// Costs from measured iterations of one model on one machine: what a study predicts with.
///
/// A collective *moves* on a rank from the arrival of its last participant to its end there; before
/// that the rank only waits, and nothing slows down.
///
/// 1. Computation and copies that overlapped nothing of another occupation of their rank (under 2% of
///    their time; interference.h) are timed alone. Samples of one shape with nearly equal units become their median; a line is fitted to
///    these per shape (shape_key), per kind, and for "gemm", "memory" and "copy". [Lancet caches op times
///    by shape]
/// 2. Collectives that moved while no participant computed or copied give one sample per call: from last
///    arrival to last end against the most bytes any rank sent or received. Fitted per kind and
///    link.
/// 3. Computation beside communication: of a span of d seconds, o of them beside a moving collective,
///    the work W (alone, by the fits of 1) is (d - o) + s o, so
///        s = (W - (d - o)) / o                    [MPMoE's alpha(comp, comm), 4.2]
///    and likewise for every other pair of occupations, from spans of whose company at least 90% was
///    the other's. The median over all such spans of a pair, and of computation of a kind beside
///    communication, each weighing its o; clamped to [0.05, 1]. What too little was seen of on one link is
///    taken to be as on both; alpha(y, all) is left to who has measured it (study/profile.h), or the product.
/// Where ranks share fewer processors than they are, the time of an op is what it had of them: its span, of
/// which each moment counts min(1, seats / of these ranks that compute then); and samples of one size
/// become their mean, as an operating system gives some all of a core and lets others wait.
///
/// 4. Launch gaps: medians of start minus the end of the last thing waited for; of contended ones
///    the mean, for they are rare and long.
///
/// To tell alpha from beta, and to see interference, give it iterations of the sequential schedule,
/// of one cut into chunks but on one stream, and of an overlapped one. Throws std::invalid_argument
/// when there are none or a timeline does not fit its Program.
CostModel calibrate(std::span<const MeasuredIteration> iterations, const moe::Groups& groups,
                    std::string device,
                    const std::vector<SharedProcessors>& shared_processors = {});

}  // namespace tuner
