#include "tuner/costs/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "db/console/statistics.h"
#include "db/timeline_statistics.h"
#include "moe/program/start_rule.h"
#include "tuner/costs/beside.h"
#include "tuner/costs/card_queue.h"
#include "tuner/costs/op_costs.h"

namespace tuner {
namespace {

constexpr double kSameUnits = 1.02;  ///< samples within this ratio are one size
/// A call with so many times fewer bytes than another one waits for the other's messages, and not
/// for its own share of the bandwidth.
constexpr double kFarLarger = 100;

/// A call that began beside far larger ones between nodes.
struct CallBesideLarger {
  Sample sample;
  double others_left_s = 0;  ///< how long the larger ones went on after it began
};

struct Observations {
  std::map<std::string, std::vector<Observation>> compute;  ///< and copies; by shape
  std::map<std::string, bool> copies;                       ///< op kind -> copies, else computes
  std::map<std::string, std::string> kind_of;               ///< shape -> op kind
  std::map<std::string, bool> by_flops;                     ///< op kind -> units
  std::map<std::string, std::vector<Observation>> calls;    ///< by link_key
  std::map<std::string, std::vector<CallBesideLarger>> queued;  ///< by link_key
  std::vector<double> same_stream_gaps, other_stream_gaps, routing_gaps, contended_gaps;
};

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
                                const std::vector<moe::Binding>& bindings) {
  CostModel any;
  any.fits["gemm"] = any.fits[gemm_fit("bf16")] = any.fits["memory"] = {};
  Cluster links;
  links.inter_node = links.intra_node = {1, 0};
  return op_costs(program, groups, bindings, any, links);
}

/// The ops that an op waited for last, on its own stream and on others, and when they ended.
struct LastWait {
  double same_s = 0;
  double other_s = -1;
  int other_op = -1;
  int before = -1;  ///< op before it on its stream
  double ready_s() const { return std::max(same_s, other_s); }
};

std::vector<LastWait> last_waits(const moe::Program& program, const std::vector<moe::OpSpan>& spans,
                                 const std::vector<std::vector<int>>& waits) {
  std::vector<LastWait> result(program.ops.size());
  std::vector<int> last_of_stream(moe::kStreamCount, -1);
  const auto end_of = [&](int op) { return interval_of(spans[op]).end_s; };
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    if (!has_run(spans[op])) continue;
    LastWait& last = result[op];
    const auto stream = static_cast<std::size_t>(program.ops[op].stream);
    last.before = std::exchange(last_of_stream[stream], static_cast<int>(op));
    if (last.before >= 0) last.same_s = end_of(last.before);
    for (const int earlier : waits[op]) {
      if (program.ops[earlier].stream == program.ops[op].stream) continue;
      if (!has_run(spans[earlier])) continue;
      if (end_of(earlier) > last.other_s) {
        last.other_s = end_of(earlier);
        last.other_op = earlier;
      }
    }
  }
  return result;
}

void observe_gaps(const MeasuredIteration& iteration, const std::vector<std::vector<int>>& waits,
                  Observations& seen) {
  const moe::Program& program = *iteration.program;
  for (const auto& spans : iteration.timeline.ranks) {
    const std::vector<LastWait> lasts = last_waits(program, spans, waits);
    std::vector<bool> woke_computation(program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (has_run(spans[op]) && !moe::is_communication(program.ops[op]) &&
          lasts[op].other_s > lasts[op].same_s) {
        woke_computation[lasts[op].other_op] = true;
      }
    }
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (!has_run(spans[op])) continue;
      const LastWait& last = lasts[op];
      const double gap = std::max(spans[op].start_s - last.ready_s(), 0.0);
      const auto before = static_cast<std::size_t>(std::max(last.before, 0));
      if (last.other_s > last.same_s) {
        const bool routing = moe::binds_routing(program.ops[last.other_op]);
        (routing ? seen.routing_gaps : seen.other_stream_gaps).push_back(gap);
      } else if (last.before >= 0 && moe::is_communication(program.ops[op]) &&
                 moe::is_communication(program.ops[before]) && woke_computation[before]) {
        seen.contended_gaps.push_back(gap);
      } else {
        seen.same_stream_gaps.push_back(gap);
      }
    }
  }
}

/// When a rank is busy with what, merged.
struct BusyTimes {
  std::array<std::vector<db::TimeInterval>, kOccupations> each;
  std::array<std::vector<db::TimeInterval>, kOccupations> others;  ///< all but this one
  std::vector<db::TimeInterval> links;                             ///< either link
  std::vector<db::TimeInterval> processors;                        ///< computes or copies

  void add(Occupation occupation, db::TimeInterval interval) {
    each[static_cast<std::size_t>(occupation)].push_back(interval);
  }
  void merge() {
    const auto of = [this](Occupation a) -> const auto& { return each[std::size_t(a)]; };
    const auto joined = [](const auto& a, const auto& b) {
      auto all = a;
      all.insert(all.end(), b.begin(), b.end());
      return db::merged(std::move(all));
    };
    for (auto& intervals : each) intervals = db::merged(std::move(intervals));
    links = joined(of(Occupation::inter_node), of(Occupation::intra_node));
    processors = joined(of(Occupation::computation), of(Occupation::copy));
    for (std::size_t own = 0; own < kOccupations; ++own) {
      for (std::size_t x = 0; x < kOccupations; ++x) {
        if (x != own) others[own] = joined(others[own], each[x]);
      }
    }
    // A collective that waits for one link while it uses the other is slowed by neither.
    others[std::size_t(Occupation::inter_node)] = processors;
    others[std::size_t(Occupation::intra_node)] = processors;
  }

  BesideSeconds beside(Occupation own, db::TimeInterval interval) const {
    BesideSeconds seconds;
    for (std::size_t x = 0; x < kOccupations; ++x) {
      if (x != std::size_t(own)) seconds.each[x] = db::covered_length_s(interval, each[x]);
    }
    seconds.links = db::covered_length_s(interval, links);
    seconds.any = db::covered_length_s(interval, others[std::size_t(own)]);
    return seconds;
  }
};

/// The share of the processors that a computing rank has over time, where ranks share them: each
/// gets min(1, P / n) while n of them compute.
class SharedTime {
 public:
  /// `busy` by rank, merged.
  SharedTime(const std::vector<BusyTimes>& busy, const SharedProcessors& shared) {
    std::vector<std::pair<double, int>> changes;
    for (const int rank : shared.ranks) {
      for (const db::TimeInterval& interval : busy[rank].processors) {
        changes.emplace_back(interval.begin_s, 1);
        changes.emplace_back(interval.end_s, -1);
      }
    }
    std::sort(changes.begin(), changes.end());
    int count = 0;
    for (const auto& [time, change] : changes) {
      if (!times_.empty()) sums_.push_back(sums_.back() + shares_.back() * (time - times_.back()));
      if (times_.empty()) sums_.push_back(0);
      count += change;
      times_.push_back(time);
      shares_.push_back(count > 0 ? processor_share(shared, count) : 1);
    }
  }

  /// Seconds of one processor that an op of this interval has had.
  double of(const db::TimeInterval& interval) const {
    return until(interval.end_s) - until(interval.begin_s);
  }

 private:
  double until(double time) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), time);
    if (after == times_.begin()) return time - times_.front();
    const auto i = static_cast<std::size_t>(after - times_.begin()) - 1;
    return sums_[i] + shares_[i] * (time - times_[i]);
  }

  std::vector<double> times_, shares_, sums_;  ///< ascending; the share from each on; before each
};

BesideSeconds scaled(BesideSeconds beside, double factor) {
  for (double& seconds : beside.each) seconds *= factor;
  beside.links *= factor;
  beside.any *= factor;
  beside.same_link *= factor;
  return beside;
}

BesideSeconds sum(BesideSeconds a, const BesideSeconds& b) {
  for (std::size_t x = 0; x < kOccupations; ++x) a.each[x] += b.each[x];
  a.links += b.links;
  a.any += b.any;
  a.same_link += b.same_link;
  return a;
}

/// The most bytes that any rank sends or receives in a call.
struct CallBytes {
  double inter = 0;  ///< between nodes
  double intra = 0;  ///< inside its node
};

CallBytes call_bytes(const GroupCall& call, const moe::Groups& groups) {
  const LinkLoads loads = link_loads(call, groups);
  std::map<int, double> out, in;  // between nodes, by rank
  for (const Transfer& transfer : call.transfers) {
    if (groups.node_of[transfer.from] == groups.node_of[transfer.to]) continue;
    out[transfer.from] += static_cast<double>(transfer.bytes);
    in[transfer.to] += static_cast<double>(transfer.bytes);
  }
  CallBytes bytes;
  for (const int member : call.ranks) {
    const auto rank = static_cast<std::size_t>(member);
    bytes.inter = std::max({bytes.inter, out[member], in[member]});
    bytes.intra = std::max({bytes.intra, loads.rank_out[rank], loads.rank_in[rank]});
  }
  return bytes;
}

/// The time during which a collective moves on a rank.
struct Moving {
  std::size_t op = 0;
  Occupation link = Occupation::inter_node;
  db::TimeInterval interval;
  double bytes = 0;  ///< between nodes
};

/// `contended`: contended_processors() of the ranks.
void observe(const MeasuredIteration& iteration, const moe::Groups& groups,
             const std::vector<SharedProcessors>& contended, std::string_view device,
             Observations& seen) {
  const moe::Program& program = *iteration.program;
  const auto shapes = call_shapes(program, groups, iteration.bindings);
  const auto arrivals = last_arrivals(iteration, shapes);
  const std::size_t ranks = iteration.timeline.ranks.size();

  std::vector<std::vector<CallBytes>> bytes_of(program.ops.size());  // by call
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    for (const GroupCall& call : shapes[op].calls) bytes_of[op].push_back(call_bytes(call, groups));
  }
  std::vector<BusyTimes> busy(ranks);
  std::vector<std::vector<Moving>> moving(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (!has_run(iteration.timeline.ranks[rank][op])) continue;
      db::TimeInterval interval = interval_of(iteration.timeline.ranks[rank][op]);
      if (shapes[op].activity == moe::Activity::communication) {
        interval.begin_s = std::max(interval.begin_s, arrivals[op][rank]);
        const int index = shapes[op].call_of[rank];
        const Occupation link = shapes[op].calls[index].link;
        busy[rank].add(link, interval);
        moving[rank].push_back({op, link, interval, bytes_of[op][index].inter});
      } else {
        busy[rank].add(occupation_of(shapes[op]), interval);
      }
    }
    busy[rank].merge();
  }
  std::vector<SharedTime> processor_times;
  std::vector<const SharedTime*> time_of(ranks, nullptr);
  processor_times.reserve(contended.size());  // time_of points into it
  for (const SharedProcessors& shared : contended) {
    processor_times.emplace_back(busy, shared);
    for (const int rank : shared.ranks) {
      time_of[rank] = &processor_times.back();
    }
  }

  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const moe::Op& entry = program.ops[op];
    if (shapes[op].activity != moe::Activity::communication) {
      const std::string key = shape_key(program, entry);
      const std::string kind = costed_kind(program, entry);
      seen.kind_of[key] = kind;
      seen.by_flops[kind] = costs_by_flops(entry);
      const Occupation own = occupation_of(shapes[op]);
      seen.copies[kind] = own == Occupation::copy;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const moe::OpSpan& span = iteration.timeline.ranks[rank][op];
        if (!(span.duration_s > 0)) continue;
        Sample sample = units_of(program, entry, iteration.bindings[rank], groups,
                                 static_cast<int>(rank), device);
        const db::TimeInterval interval = interval_of(span);
        sample.seconds = time_of[rank] != nullptr ? time_of[rank]->of(interval) : span.duration_s;
        // The overlap is the same share of the processor time that the op had as of its span.
        seen.compute[key].push_back(
            {sample, scaled(busy[rank].beside(own, interval), sample.seconds / span.duration_s)});
      }
      continue;
    }
    for (std::size_t index = 0; index < shapes[op].calls.size(); ++index) {
      const GroupCall& call = shapes[op].calls[index];
      const CallBytes& bytes = bytes_of[op][index];
      double begin = 0, end = 0;
      BesideSeconds beside;
      double others_left_s = 0;
      for (const int member : call.ranks) {
        const auto rank = static_cast<std::size_t>(member);
        begin = arrivals[op][rank];
        const db::TimeInterval interval{begin,
                                        interval_of(iteration.timeline.ranks[rank][op]).end_s};
        end = std::max(end, interval.end_s);
        BesideSeconds here = busy[rank].beside(call.link, interval);
        for (const Moving& other : moving[rank]) {
          if (other.op == op || other.link != call.link) continue;
          here.same_link += db::covered_length_s(interval, std::span(&other.interval, 1));
          const bool is_under_way =
              call.link == Occupation::inter_node && other.interval.begin_s < begin;
          if (is_under_way && other.bytes > kFarLarger * bytes.inter) {
            others_left_s = std::max(others_left_s, other.interval.end_s - begin);
          }
        }
        beside = sum(beside, scaled(here, 1 / static_cast<double>(call.ranks.size())));
      }
      if (!(end > begin)) continue;
      const bool between = bytes.inter > 0;
      const std::string key =
          link_key(collective_name(entry), between ? "inter_node" : "intra_node");
      const Sample sample{1, between ? bytes.inter : bytes.intra, end - begin};
      seen.calls[key].push_back({sample, beside});
      if (others_left_s > 0) seen.queued[key].push_back({sample, others_left_s});
    }
  }
  observe_gaps(iteration, moe::waits_for(program), seen);
}

/// Rare long values are what matters of some: their mean.
double mean_or_zero(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// The value that represents samples of one size. Where ranks share processors it is the mean,
/// because single ops get more or less than their share of the time and only all of them together
/// get their share.
enum class Typical : std::uint8_t { median, mean };

/// Samples timed alone, those of one size together; none where none was alone.
std::vector<Sample> sizes_alone(const std::vector<Observation>& observations,
                                Typical typical = Typical::median) {
  std::vector<Sample> alone;
  for (const Observation& observation : observations) {
    const double beside_s = std::max(observation.beside.any, observation.beside.same_link);
    if (beside_s <= kAlone * observation.sample.seconds) {
      alone.push_back(observation.sample);
    }
  }
  std::sort(alone.begin(), alone.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.units, a.calls, a.seconds) < std::tie(b.units, b.calls, b.seconds);
  });
  std::vector<Sample> sizes;
  for (std::size_t first = 0; first < alone.size();) {
    std::size_t last = first;
    std::vector<double> seconds, units;
    while (last < alone.size() && alone[last].calls == alone[first].calls &&
           alone[last].units <= kSameUnits * alone[first].units) {
      seconds.push_back(alone[last].seconds);
      units.push_back(alone[last].units);
      ++last;
    }
    sizes.push_back({alone[first].calls, db::median(units),
                     typical == Typical::mean ? mean_or_zero(seconds) : db::median(seconds)});
    first = last;
  }
  return sizes;
}

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : db::median(values);
}

/// How much longer calls took than alone that began beside far larger ones.
std::vector<QueuedCall> queued_calls(const Observations& seen, const CostModel& costs) {
  std::vector<QueuedCall> queued;
  for (const auto& [key, calls] : seen.queued) {
    const auto fit = costs.fits.find(key);
    if (fit == costs.fits.end()) continue;
    for (const CallBesideLarger& call : calls) {
      const double alone_s = seconds_of(fit->second, call.sample.calls, call.sample.units);
      queued.push_back({std::max(call.sample.seconds - alone_s, 0.0), call.others_left_s});
    }
  }
  return queued;
}

}  // namespace

CostModel calibrate(std::span<const MeasuredIteration> iterations, const moe::Groups& groups,
                    std::string device, const std::vector<SharedProcessors>& shared_processors) {
  if (iterations.empty()) throw std::invalid_argument("calibrate: no iterations");
  const auto contended = contended_processors(shared_processors, groups.ranks);
  Observations seen;
  for (const MeasuredIteration& iteration : iterations) {
    for (const auto& spans : iteration.timeline.ranks) {
      if (spans.size() != iteration.program->ops.size() ||
          iteration.timeline.ranks.size() != static_cast<std::size_t>(groups.ranks)) {
        throw std::invalid_argument(fmt::format(
            "calibrate: {} spans on {} ranks, the program has {} ops on {} ranks", spans.size(),
            iteration.timeline.ranks.size(), iteration.program->ops.size(), groups.ranks));
      }
    }
    observe(iteration, groups, contended, device, seen);
  }

  CostModel costs;
  costs.device = std::move(device);
  std::map<std::string, std::vector<Sample>> by_kind, by_class;
  for (const auto& [shape, observations] : seen.compute) {
    const std::vector<Sample> sizes =
        sizes_alone(observations, contended.empty() ? Typical::median : Typical::mean);
    if (sizes.empty()) continue;
    const std::string& kind = seen.kind_of[shape];
    const bool flops = seen.by_flops[kind];
    costs.fits[shape] = fit_sizes(sizes, flops ? "flop" : "byte");
    auto& kind_samples = by_kind[kind];
    kind_samples.insert(kind_samples.end(), sizes.begin(), sizes.end());
    const std::string gemm = gemm_fit(kind.ends_with("_bf16") ? "bf16" : "f32");
    auto& class_samples = by_class[seen.copies[kind] ? "copy" : flops ? gemm : "memory"];
    class_samples.insert(class_samples.end(), sizes.begin(), sizes.end());
  }
  for (const auto* group : {&by_kind, &by_class}) {
    for (const auto& [key, samples] : *group) {
      const bool flops = group == &by_kind ? seen.by_flops[key] : key.starts_with("gemm");
      costs.fits[key] = fit_line(samples, flops ? "flop" : "byte");
    }
  }
  for (const auto& [key, observations] : seen.calls) {
    const std::vector<Sample> sizes = sizes_alone(observations);
    if (!sizes.empty()) costs.fits[key] = fit_line(sizes, "byte");
  }

  Pairs pairs;
  std::map<std::string, Beside> of_kind;
  for (const auto& [shape, observations] : seen.compute) {
    const auto fit = costs.fits.find(shape);
    if (fit == costs.fits.end()) continue;
    const std::string& kind = seen.kind_of[shape];
    for (const Observation& observation : observations) {
      if (seen.copies[kind]) {
        pairs.add(Occupation::copy, observation, fit->second);
        continue;
      }
      pairs.add(Occupation::computation, observation, fit->second);
      of_kind[kind].add(observation, fit->second, observation.beside.links);
    }
  }
  for (const auto& [key, observations] : seen.calls) {
    const auto fit = costs.fits.find(key);
    if (fit == costs.fits.end()) continue;
    const bool between = key.ends_with(name_of(Occupation::inter_node));
    for (const Observation& observation : observations) {
      pairs.add(between ? Occupation::inter_node : Occupation::intra_node, observation,
                fit->second);
    }
  }
  pairs.write(costs.interference);
  for (const auto& [kind, beside] : of_kind) {
    if (const auto speed = beside.speed()) {
      costs.interference.kind_beside_communication[kind] = *speed;
    }
  }
  costs.gaps = {median_or_zero(seen.same_stream_gaps), median_or_zero(seen.other_stream_gaps),
                median_or_zero(seen.routing_gaps), mean_or_zero(seen.contended_gaps),
                queued_s(queued_calls(seen, costs))};
  return costs;
}

}  // namespace tuner
