#pragma once

#include <span>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/cost_parts.h"

namespace tuner {

/// One measured iteration: the scheduled Program, with the groups of the ranks that carried it out,
/// the rows that it sent, and its spans.
struct MeasuredIteration {
  const moe::Program* program = nullptr;
  moe::Routing routing;  ///< empty for a model without experts
  moe::Timeline timeline;
};

/// Works out costs from measured iterations of one model on one machine, in one layout of its ranks
/// or in several. Studies predict with them.
///
/// A collective *moves* on a rank from the arrival of its last participant to its end there; before
/// that the rank only waits, and slows nothing down.
///
/// 1. Computation and copies count as alone where less than 2% of their time overlapped another
///    occupation of their rank (interference.h). Samples of one shape with nearly equal units
///    become their median. A fit is drawn through these per shape (shape_key), per kind, and for
///    "gemm", "gemm_bf16", "gemm_f64", "memory" and "copy".
///    [Lancet caches op times by shape]
/// 2. Collectives that moved while no participant computed or copied, and while no other collective
///    moved on their link, give one sample per call: the time from the last arrival to the last
///    end, and the most bytes that any rank sent or received. They are fitted per kind and link:
///    rows of a small one may arrive before its last participant, and then it is an outlier.
/// 3. Computation beside communication: in a span of d seconds, o of which overlap a moving
///    collective, the work W (its time alone, by the fits of 1) is (d - o) + s o, so
///        s = (W - (d - o)) / o                    [MPMoE's alpha(comp, comm), 4.2]
///    The same holds for every other pair of occupations. Only spans count in which at least 90% of
///    the overlap is with the other occupation of the pair, and at most 10% with two or more. The
///    speed of a pair is the median over these spans, each weighed by its o, and clamped to
///    [0.05, 1]. Beside several others the pairs are multiplied: alpha(y, all) is not looked for.
/// 4. The launch gap is the median over all starts of the start minus the end of the last op waited
///    for. The wait for a card's queue comes from calls between nodes that began while one 100
///    times as large moved: from how much longer than alone they took. A wait that ended with the
///    larger call says only that the queue holds no less.
/// 5. What messages of exchanges need not wait for comes from how long those ranks took that came
///    last (message_buffers.h), in the kind of exchange that sent most bytes in all.
///
/// Parts of a batch count with even shares of its rows, since their own routing is not stored;
/// predictions assume the same.
///
/// Where there are more ranks than processors, the time of an op is the processor time that it had:
/// each moment of its span counts min(1, seats / ranks that compute then). Samples of one size then
/// become their mean, because the operating system gives some ops a whole core and lets others
/// wait.
///
/// To tell alpha from beta, and to observe interference, give it iterations of the sequential
/// schedule, of one cut into chunks on one stream, and of an overlapped one. Throws
/// std::invalid_argument where there are none, where a timeline does not fit its Program, and where
/// iterations differ in ranks.
CostModel calibrate(std::span<const MeasuredIteration> iterations, std::string device,
                    const std::vector<SharedProcessors>& shared_processors = {},
                    const CostParts& parts = {});

}  // namespace tuner
