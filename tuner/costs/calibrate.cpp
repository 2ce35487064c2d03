#include "tuner/costs/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"
#include "tuner/costs/card_queue.h"
#include "tuner/costs/fit_doublings.h"
#include "tuner/costs/observe.h"

namespace tuner {
namespace {

constexpr double kSameUnits = 1.02;  ///< samples within this ratio are one size

/// The value that represents samples of one size. Where ranks share processors it is the mean,
/// because single ops get more or less than their share of the time and only all of them together
/// get their share.
enum class Typical : std::uint8_t { median, mean };

/// Samples timed alone, those of one size together; none where none was alone.
std::vector<Sample> sizes_alone(const std::vector<Observation>& observations,
                                Typical typical = Typical::median) {
  std::vector<Sample> alone;
  for (const Observation& observation : observations) {
    if (is_alone(observation)) alone.push_back(observation.sample);
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
                     typical == Typical::mean ? db::mean(seconds) : db::median(seconds)});
    first = last;
  }
  return sizes;
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
  LaunchGaps gaps;
  if (parts.has(CostPart::launch_gaps) && !seen.launch_gaps.empty()) {
    gaps.launch_s = db::median(seen.launch_gaps);
  }
  if (parts.has(CostPart::card_queue)) gaps.queued_s = queued_s(queued_calls(seen, costs));
  return gaps;
}

/// Fits by shape, by kind and by class of kinds, of computation and copies that ran alone.
void fit_computation(const Observations& seen, Typical typical, const CostParts& parts,
                     CostModel& costs) {
  std::map<std::pair<std::string, std::string>, std::vector<Sample>> wider_samples;  // and unit
  for (const auto& [key, shape] : seen.compute) {
    const std::vector<Sample> sizes = sizes_alone(shape.all, typical);
    if (sizes.empty()) continue;
    const std::string unit = shape.by_flops ? "flop" : "byte";
    if (parts.has(CostPart::shapes)) costs.fits[key] = fit_doublings(sizes, unit);
    const std::string general = shape.copies     ? "copy"
                                : shape.by_flops ? gemm_fit(type_of_fit(shape.kind))
                                                 : "memory";
    for (const std::string& wider : {shape.kind, general}) {
      auto& samples = wider_samples[{wider, unit}];
      samples.insert(samples.end(), sizes.begin(), sizes.end());
    }
  }
  for (const auto& [wider, samples] : wider_samples) {
    costs.fits[wider.first] = fit_curve(samples, wider.second);
  }
}

/// Fits of collectives that moved alone.
void fit_calls(const Observations& seen, CostModel& costs) {
  for (const auto& [key, observations] : seen.calls) {
    const std::vector<Sample> sizes = sizes_alone(observations);
    // Rows of a small call may arrive before its last participant: then it takes microseconds. Parts
    // of the batch are extrapolated to smaller calls, where a curve through the scatter of few sizes
    // goes astray.
    if (!sizes.empty()) costs.fits[key] = fit_line(sizes, "byte");
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
  if (!parts.has(CostPart::pairs)) return {};
  Pairs pairs;
  const auto add = [&](const std::string& key, Occupation own, const auto& observations) {
    // What never ran alone has no fit: its speed is unknown.
    const auto fit = costs.fits.find(key);
    if (fit == costs.fits.end()) return;
    for (const Observation& one : observations) pairs.add(own, one, fit->second);
  };
  for (const auto& [key, shape] : seen.compute) {
    add(parts.has(CostPart::shapes) ? key : shape.kind,
        shape.copies ? Occupation::copy : Occupation::computation, shape.all);
  }
  for (const auto& [key, calls] : seen.calls) {
    const bool between = key.ends_with(name_of(Occupation::inter_node));
    add(key, between ? Occupation::inter_node : Occupation::intra_node, calls);
  }
  return pairs.speeds();
}

void check_fits(const MeasuredIteration& iteration, int ranks) {
  for (const auto& spans : iteration.timeline.ranks) {
    if (spans.size() != iteration.program->ops.size() ||
        iteration.timeline.ranks.size() != static_cast<std::size_t>(ranks)) {
      throw std::invalid_argument(fmt::format(
          "calibrate: {} spans on {} ranks, the program has {} ops on {} ranks", spans.size(),
          iteration.timeline.ranks.size(), iteration.program->ops.size(), ranks));
    }
  }
}

}  // namespace

CostModel calibrate(std::span<const MeasuredIteration> iterations, std::string device,
                    const std::vector<SharedProcessors>& shared_processors,
                    const CostParts& parts) {
  if (iterations.empty()) throw std::invalid_argument("calibrate: no iterations");
  const int ranks = iterations.front().program->groups.ranks;
  for (const MeasuredIteration& iteration : iterations) check_fits(iteration, ranks);
  const Observations seen = observe(iterations, shared_processors, device);
  const bool contended = ranks_contend(shared_processors, ranks);
  CostModel costs;
  costs.device = std::move(device);
  fit_computation(seen, contended ? Typical::mean : Typical::median, parts, costs);
  fit_calls(seen, costs);
  costs.interference = interference_of(seen, parts, costs);
  costs.gaps = gaps_of(seen, parts, costs);
  if (parts.has(CostPart::message_buffers)) costs.buffers = buffers_of(seen, costs);
  return costs;
}

}  // namespace tuner
