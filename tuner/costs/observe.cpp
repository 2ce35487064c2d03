#include "tuner/costs/observe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>

#include "db/timeline/intervals.h"
#include "moe/program/start_rule.h"
#include "tuner/costs/busy_times.h"
#include "tuner/costs/card_shares.h"
#include "tuner/costs/op_costs.h"
#include "tuner/costs/processor_time.h"
#include "tuner/costs/rule_time.h"

namespace tuner {
namespace {

/// A call with so many times fewer bytes than another one waits for the other's messages, and not
/// for its own share of the bandwidth.
constexpr double kFarLarger = 100;

/// False on ranks of other pipeline stages than the op's.
bool has_run(const moe::OpSpan& span) { return span.op >= 0; }

db::TimeInterval interval_of(const moe::OpSpan& span) {
  return {span.start_s, span.start_s + span.duration_s};
}

/// When the members of each collective call were all there, by op and rank.
std::vector<std::vector<double>> last_arrivals(const MeasuredIteration& iteration,
                                               const std::vector<OpCost>& shape) {
  std::vector<std::vector<double>> arrivals(shape.size());
  for (std::size_t op = 0; op < shape.size(); ++op) {
    if (shape[op].activity != moe::Activity::communication) continue;
    arrivals[op].assign(iteration.timeline.ranks.size(), 0);
    for (const GroupCall& call : shape[op].calls) {
      double last = 0;
      for (const int rank : call.ranks) {
        last = std::max(last, iteration.timeline.ranks[rank][op].start_s);
      }
      for (const int rank : call.ranks) arrivals[op][rank] = last;
    }
  }
  return arrivals;
}

/// Who takes part and with how many bytes; speeds do not matter.
std::vector<OpCost> call_shapes(const moe::Program& program, const moe::Groups& groups,
                                const moe::Routing& routing) {
  CostModel any;
  any.fits["gemm"] = any.fits["memory"] = {};
  for (const moe::DType type : kTypesWithFits) any.fits[gemm_fit(moe::name_of(type))] = {};
  Cluster links;
  links.inter_node = links.intra_node = {1, 0};
  return program_costs(program, groups, routing, any, links, kNotFolded).ops;
}

void observe_gaps(const MeasuredIteration& iteration, const std::vector<std::vector<int>>& waits,
                  Observations& seen) {
  const moe::Program& program = *iteration.program;
  for (const auto& spans : iteration.timeline.ranks) {
    std::array<double, moe::kStreamCount> free_at_s{};
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (!has_run(spans[op])) continue;
      double& stream_free_s = free_at_s[static_cast<std::size_t>(program.ops[op].stream)];
      double ready_s = stream_free_s;
      for (const int earlier : waits[op]) {
        if (has_run(spans[earlier])) ready_s = std::max(ready_s, interval_of(spans[earlier]).end_s);
      }
      seen.launch_gaps.push_back(std::max(spans[op].start_s - ready_s, 0.0));
      stream_free_s = interval_of(spans[op]).end_s;
    }
  }
}

/// Adds so many times what was beside.
void add_beside(const BesideSeconds& beside, double times, BesideSeconds& sum) {
  for (std::size_t x = 0; x < kOccupations; ++x) sum.each[x] += times * beside.each[x];
  sum.any += times * beside.any;
  sum.same_link += times * beside.same_link;
}

/// The time during which a collective moves on a rank.
struct Moving {
  std::size_t op = 0;
  Occupation link = Occupation::inter_node;
  db::TimeInterval interval;
  double bytes = 0;  ///< between nodes
};

/// The iteration on all ranks, and what its observations are worked out from.
class ObservedIteration {
 public:
  ObservedIteration(const MeasuredIteration& iteration,
                    const std::vector<SharedProcessors>& contended)
      : iteration_(iteration),
        groups_(iteration.program->groups),
        bindings_(bind_all(*iteration.program, groups_, iteration.routing)),
        shapes_(call_shapes(*iteration.program, groups_, iteration.routing)),
        arrivals_(last_arrivals(iteration, shapes_)),
        bytes_of_(shapes_.size()),
        busy_(iteration.timeline.ranks.size()),
        moving_(iteration.timeline.ranks.size()) {
    for (std::size_t op = 0; op < shapes_.size(); ++op) {
      for (const GroupCall& call : shapes_[op].calls) {
        bytes_of_[op].push_back(busiest_bytes(call));
        if (moe::exchanges_rows(iteration.program->ops[op])) {
          bytes_of_[op].back().between = card_shares(call, groups_).even;
        }
      }
    }
    for (std::size_t rank = 0; rank < busy_.size(); ++rank) note_busy_times(rank);
    std::vector<std::vector<db::TimeInterval>> computing;
    for (const BusyTimes& busy : busy_) computing.push_back(busy.processors());
    processor_times_.reserve(contended.size());  // processor_time_of_ points into it
    processor_time_of_.resize(busy_.size(), nullptr);
    for (const SharedProcessors& shared : contended) {
      const ProcessorTime& time = processor_times_.emplace_back(computing, shared);
      for (const int rank : shared.ranks) processor_time_of_[rank] = &time;
    }
  }

  void observe_ops(std::string_view device, Observations& seen) const {
    const auto placements = moe::placements(*iteration_.program);
    for (std::size_t op = 0; op < shapes_.size(); ++op) {
      if (shapes_[op].activity != moe::Activity::communication) {
        observe_computation(op, device, seen);
        continue;
      }
      // Hosts worked a rule out in the same span, which has a cost of its own.
      if (!rule_at(placements, iteration_.program->ops[op]).empty()) continue;
      for (std::size_t index = 0; index < shapes_[op].calls.size(); ++index) {
        observe_call(op, index, seen);
      }
    }
  }

 private:
  const moe::OpSpan& span_of(std::size_t rank, std::size_t op) const {
    return iteration_.timeline.ranks[rank][op];
  }

  void note_busy_times(std::size_t rank) {
    for (std::size_t op = 0; op < shapes_.size(); ++op) {
      if (!has_run(span_of(rank, op))) continue;
      db::TimeInterval interval = interval_of(span_of(rank, op));
      if (shapes_[op].activity == moe::Activity::communication) {
        interval.begin_s = std::max(interval.begin_s, arrivals_[op][rank]);
        const int index = shapes_[op].call_of[rank];
        const Occupation link = shapes_[op].calls[index].link;
        busy_[rank].add(link, interval);
        moving_[rank].push_back({op, link, interval, bytes_of_[op][index].between});
      } else {
        busy_[rank].add(occupation_of(shapes_[op]), interval);
      }
    }
    busy_[rank].merge();
  }

  void observe_computation(std::size_t op, std::string_view device, Observations& seen) const {
    const moe::Program& program = *iteration_.program;
    const moe::Op& entry = program.ops[op];
    const Occupation own = occupation_of(shapes_[op]);
    ShapeObservations& shape = seen.compute[shape_key(program, entry)];
    shape.kind = costed_kind(program, entry);
    shape.copies = own == Occupation::copy;
    shape.by_flops = costs_by_flops(entry);
    for (std::size_t rank = 0; rank < busy_.size(); ++rank) {
      const moe::OpSpan& span = span_of(rank, op);
      if (!(span.duration_s > 0)) continue;
      Sample sample =
          units_of(program, entry, bindings_[rank], groups_, static_cast<int>(rank), device);
      const db::TimeInterval interval = interval_of(span);
      const ProcessorTime* had = processor_time_of_[rank];
      sample.seconds = had != nullptr ? had->of(interval) : span.duration_s;
      Observation& observation =
          shape.all.emplace_back(Observation{sample, {}, static_cast<int>(rank)});
      // The overlap is the same share of the processor time that the op had as of its span.
      add_beside(busy_[rank].beside(own, interval), sample.seconds / span.duration_s,
                 observation.beside);
    }
  }

  /// What moved on a rank's link beside a call of `bytes`, which moved there during `interval`.
  struct SameLink {
    double seconds = 0;
    double larger_left_s = 0;  ///< how long far larger calls went on after it began
  };
  SameLink same_link(std::size_t rank, std::size_t op, Occupation link, db::TimeInterval interval,
                     const BusiestBytes& bytes) const {
    SameLink found;
    for (const Moving& other : moving_[rank]) {
      if (other.op == op || other.link != link) continue;
      found.seconds += db::covered_length_s(interval, std::span(&other.interval, 1));
      const bool is_under_way =
          link == Occupation::inter_node && other.interval.begin_s < interval.begin_s;
      if (is_under_way && other.bytes > kFarLarger * bytes.between) {
        found.larger_left_s =
            std::max(found.larger_left_s, other.interval.end_s - interval.begin_s);
      }
    }
    return found;
  }

  void observe_call(std::size_t op, std::size_t index, Observations& seen) const {
    const GroupCall& call = shapes_[op].calls[index];
    const BusiestBytes& bytes = bytes_of_[op][index];
    double begin = 0, end = 0;
    BesideSeconds beside;
    double larger_left_s = 0;
    for (const int member : call.ranks) {
      const auto rank = static_cast<std::size_t>(member);
      begin = arrivals_[op][rank];
      const db::TimeInterval interval{begin, interval_of(span_of(rank, op)).end_s};
      end = std::max(end, interval.end_s);
      const SameLink same = same_link(rank, op, call.link, interval, bytes);
      BesideSeconds here = busy_[rank].beside(call.link, interval);
      here.same_link = same.seconds;
      larger_left_s = std::max(larger_left_s, same.larger_left_s);
      add_beside(here, 1 / static_cast<double>(call.ranks.size()), beside);
    }
    if (!(end > begin)) return;
    const bool between = bytes.between > 0;
    const moe::Op& entry = iteration_.program->ops[op];
    const std::string key = link_key(collective_name(entry), between ? "inter_node" : "intra_node");
    const Sample sample{1, between ? bytes.between : bytes.within, end - begin};
    if (between) {
      // Ranks that came first may have sent inside their node before the last one came.
      double& least = seen.least_intra_node_bytes_per_s;
      least = std::max(least, bytes.within / (end - first_start_s(op, call)));
    }
    const Observation observation{sample, beside};
    seen.calls[key].push_back(observation);
    if (larger_left_s > 0) seen.queued[key].push_back({sample, larger_left_s});
    if (between && moe::exchanges_rows(entry) && is_alone(observation)) {
      seen.last_to_come[key].push_back(last_to_come(op, call, last_rank(op, call)));
    }
  }

  /// When the first member came to a call.
  double first_start_s(std::size_t op, const GroupCall& call) const {
    double first_s = std::numeric_limits<double>::infinity();
    for (const int rank : call.ranks) first_s = std::min(first_s, span_of(rank, op).start_s);
    return first_s;
  }

  /// The last member that came to a call.
  int last_rank(std::size_t op, const GroupCall& call) const {
    return *std::ranges::max_element(call.ranks, {},
                                     [&](int rank) { return span_of(rank, op).start_s; });
  }

  LastToCome last_to_come(std::size_t op, const GroupCall& call, int last_rank) const {
    LastToCome last;
    double sum_later_s = 0;
    for (const Transfer& transfer : call.transfers) {
      if (!transfer.between_nodes) continue;
      const auto bytes = static_cast<double>(transfer.bytes);
      if (transfer.from == last_rank) {
        last.out_bytes += bytes;
        ++last.out_peers;
      } else if (transfer.to == last_rank) {
        last.in_bytes += bytes;
        ++last.in_peers;
        sum_later_s += arrivals_[op][last_rank] - span_of(transfer.from, op).start_s;
      }
    }
    last.seconds = span_of(last_rank, op).duration_s;
    last.later_s = last.in_peers > 0 ? sum_later_s / last.in_peers : 0;
    return last;
  }

  const MeasuredIteration& iteration_;
  const moe::Groups& groups_;
  const std::vector<moe::Binding> bindings_;         ///< [rank]
  const std::vector<OpCost> shapes_;                 ///< [op]
  const std::vector<std::vector<double>> arrivals_;  ///< [op][rank]
  std::vector<std::vector<BusiestBytes>> bytes_of_;  ///< [op][call]
  std::vector<BusyTimes> busy_;                      ///< [rank]
  std::vector<std::vector<Moving>> moving_;          ///< [rank]
  std::vector<ProcessorTime> processor_times_;
  std::vector<const ProcessorTime*>
      processor_time_of_;  ///< [rank]; null where no rank shares its own
};

}  // namespace

Observations observe(std::span<const MeasuredIteration> iterations,
                     const std::vector<SharedProcessors>& shared_processors,
                     std::string_view device) {
  Observations seen;
  for (const MeasuredIteration& iteration : iterations) {
    const auto contended = contended_processors(shared_processors, iteration.program->groups.ranks);
    ObservedIteration(iteration, contended).observe_ops(device, seen);
    observe_gaps(iteration, moe::waits_for(*iteration.program), seen);
  }
  return seen;
}

}  // namespace tuner
