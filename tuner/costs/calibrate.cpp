#include "tuner/costs/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"
#include "tuner/costs/card_queue.h"
#include "tuner/costs/observe.h"

namespace tuner {
namespace {

constexpr double kSameUnits = 1.02;  ///< samples within this ratio are one size

/// An exchange counts where its ranks came within this share of the typical time of its size: what
/// comes earlier may have sent its messages before. So many of about one size, and this share of
/// them, are enough to do without the others.
constexpr double kTogether = 0.05;
constexpr std::size_t kEnoughTogether = 3;
constexpr double kLeastTogether = 0.1;

/// The share of the executions of about one size that have to run alone, for these to be typical.
/// Where a schedule hides communication behind all executions of a size, one runs alone only when
/// something disturbed it: one such in 130 took 20 times as long as the others.
constexpr double kRarelyAlone = 0.05;

/// The least relative residual of an outlier among collectives. Rows of a small one may arrive
/// before its last participant: then it takes microseconds, and a line with the same relative error
/// at all sizes would follow it.
constexpr double kLeastOutlyingCall = 0.5;

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

/// Of observations of about one size, those in which the ranks of an exchange came together, where
/// there are enough of them; else all.
std::vector<Sample> those_together(const std::vector<Observation>& observations,
                                   const CostParts& parts) {
  std::vector<double> seconds;
  std::vector<Sample> all, together;
  for (const Observation& one : observations) {
    all.push_back(one.sample);
    seconds.push_back(one.sample.seconds);
  }
  if (all.empty() || !parts.has(CostPart::came_together)) return all;
  const double most_apart_s = kTogether * db::median(seconds);
  for (const Observation& one : observations) {
    if (one.arrivals_apart_s <= most_apart_s) together.push_back(one.sample);
  }
  const bool enough =
      together.size() >= kEnoughTogether &&
      static_cast<double>(together.size()) >= kLeastTogether * static_cast<double>(all.size());
  return enough ? together : all;
}

/// Samples timed alone, without those of sizes that rarely ran alone where there are others. Sizes
/// count by doublings of the units of a call.
std::vector<Sample> samples_alone(const std::vector<Observation>& observations,
                                  const CostParts& parts) {
  struct Executions {
    std::vector<Observation> alone;
    std::size_t all = 0;
    bool rarely_alone() const {
      return static_cast<double>(alone.size()) < kRarelyAlone * static_cast<double>(all);
    }
  };
  std::map<int, Executions> doublings;
  for (const Observation& observation : observations) {
    const Sample& sample = observation.sample;
    Executions& executions = doublings[std::ilogb(units_per_call(sample.calls, sample.units))];
    ++executions.all;
    if (is_alone(observation)) executions.alone.push_back(observation);
  }
  std::vector<Sample> often, rarely;
  for (const auto& [doubling, executions] : doublings) {
    std::vector<Sample>& samples =
        parts.has(CostPart::rarely_alone) && executions.rarely_alone() ? rarely : often;
    const std::vector<Sample> chosen = those_together(executions.alone, parts);
    samples.insert(samples.end(), chosen.begin(), chosen.end());
  }
  return often.empty() ? rarely : often;
}

/// Samples timed alone, those of one size together; none where none was alone.
std::vector<Sample> sizes_alone(const std::vector<Observation>& observations,
                                const CostParts& parts, Typical typical = Typical::median) {
  std::vector<Sample> alone = samples_alone(observations, parts);
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

LaunchGaps gaps_of(const Observations& seen, const CostParts& parts, const CostModel& costs) {
  LaunchGaps gaps{median_or_zero(seen.same_stream_gaps), median_or_zero(seen.other_stream_gaps),
                  median_or_zero(seen.routing_gaps), mean_or_zero(seen.contended_gaps),
                  queued_s(queued_calls(seen, costs))};
  if (!parts.has(CostPart::same_stream_gaps)) gaps.same_stream_s = 0;
  if (!parts.has(CostPart::other_stream_gaps)) gaps.other_stream_s = gaps.same_stream_s;
  if (!parts.has(CostPart::routing_gaps)) gaps.routing_s = gaps.other_stream_s;
  if (!parts.has(CostPart::contended_gaps)) gaps.contended_s = gaps.same_stream_s;
  if (!parts.has(CostPart::card_queue)) gaps.queued_s = 0;
  return gaps;
}

/// Fits by shape, by kind and by class of kinds, of computation and copies that ran alone.
void fit_computation(const Observations& seen, Typical typical, const CostParts& parts,
                     CostModel& costs) {
  std::map<std::string, std::vector<Sample>> by_kind, by_class;
  for (const auto& [shape, observations] : seen.compute) {
    const std::vector<Sample> sizes = sizes_alone(observations, parts, typical);
    if (sizes.empty()) continue;
    const std::string& kind = seen.kind_of.at(shape);
    const bool flops = seen.by_flops.at(kind);
    const std::string unit = flops ? "flop" : "byte";
    if (parts.has(CostPart::shapes)) {
      costs.fits[shape] =
          parts.has(CostPart::size_factors) ? fit_sizes(sizes, unit) : fit_line(sizes, unit);
    }
    auto& kind_samples = by_kind[kind];
    kind_samples.insert(kind_samples.end(), sizes.begin(), sizes.end());
    const std::string gemm = gemm_fit(type_of_fit(kind));
    auto& class_samples = by_class[seen.copies.at(kind) ? "copy" : flops ? gemm : "memory"];
    class_samples.insert(class_samples.end(), sizes.begin(), sizes.end());
  }
  for (const auto& [kind, samples] : by_kind) {
    costs.fits[kind] = fit_line(samples, seen.by_flops.at(kind) ? "flop" : "byte");
  }
  for (const auto& [key, samples] : by_class) {
    costs.fits[key] = fit_line(samples, key.starts_with("gemm") ? "flop" : "byte");
  }
}

/// Fits of collectives that moved alone.
void fit_calls(const Observations& seen, const CostParts& parts, CostModel& costs) {
  for (const auto& [key, observations] : seen.calls) {
    const std::vector<Sample> sizes = sizes_alone(observations, parts);
    if (sizes.empty()) continue;
    costs.fits[key] = parts.has(CostPart::call_outliers)
                          ? fit_line_without_outliers(sizes, "byte", kLeastOutlyingCall)
                          : fit_line(sizes, "byte");
  }
}

/// The buffers of the exchange that tells most about them: the one with the most bytes.
MessageBuffers buffers_of(const Observations& seen, const CostModel& costs) {
  MessageBuffers buffers;
  double most_bytes = 0;
  for (const auto& [key, ranks] : seen.last_to_come) {
    const auto fit = costs.fits.find(key);
    if (fit == costs.fits.end()) continue;
    double bytes = 0;
    for (const LastToCome& rank : ranks) bytes += rank.out_bytes;
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    buffers = message_buffers(ranks, fit->second);
  }
  return buffers;
}

/// The speeds of what ran beside other work, by the fits of what ran alone.
Interference interference_of(const Observations& seen, const CostParts& parts,
                             const CostModel& costs) {
  Pairs pairs;
  std::map<std::string, BesideByTime> of_kind;
  for (const auto& [shape, observations] : seen.compute) {
    const std::string& kind = seen.kind_of.at(shape);
    // A shape that never ran alone has none where there are lines of shapes: its speed is unknown.
    const auto fit = costs.fits.find(parts.has(CostPart::shapes) ? shape : kind);
    if (fit == costs.fits.end()) continue;
    for (const Observation& observation : observations) {
      if (seen.copies.at(kind)) {
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
  Interference interference;
  pairs.write(interference);
  if (!parts.has(CostPart::pairs)) interference.speed = Interference{}.speed;
  if (!parts.has(CostPart::beside_all)) interference.beside_all = {};
  if (!parts.has(CostPart::kinds_beside_communication)) of_kind.clear();
  for (const auto& [kind, beside] : of_kind) {
    if (auto speeds = beside.speeds(); !speeds.empty()) {
      interference.kind_beside_communication[kind] = std::move(speeds);
    }
  }
  return interference;
}

void check_fits(const MeasuredIteration& iteration, const moe::Groups& groups) {
  for (const auto& spans : iteration.timeline.ranks) {
    if (spans.size() != iteration.program->ops.size() ||
        iteration.timeline.ranks.size() != static_cast<std::size_t>(groups.ranks)) {
      throw std::invalid_argument(fmt::format(
          "calibrate: {} spans on {} ranks, the program has {} ops on {} ranks", spans.size(),
          iteration.timeline.ranks.size(), iteration.program->ops.size(), groups.ranks));
    }
  }
}

}  // namespace

CostModel calibrate(std::span<const MeasuredIteration> iterations, const moe::Groups& groups,
                    std::string device, const std::vector<SharedProcessors>& shared_processors,
                    const CostParts& parts) {
  if (iterations.empty()) throw std::invalid_argument("calibrate: no iterations");
  for (const MeasuredIteration& iteration : iterations) check_fits(iteration, groups);
  const Observations seen = observe(iterations, groups, shared_processors, device);
  const bool contended = ranks_contend(shared_processors, groups.ranks);
  CostModel costs;
  costs.device = std::move(device);
  fit_computation(seen, contended ? Typical::mean : Typical::median, parts, costs);
  fit_calls(seen, parts, costs);
  costs.interference = interference_of(seen, parts, costs);
  costs.gaps = gaps_of(seen, parts, costs);
  if (parts.has(CostPart::message_buffers)) costs.buffers = buffers_of(seen, costs);
  return costs;
}

}  // namespace tuner
