#include "tuner/costs/pace.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"

namespace tuner {
namespace {

/// The least share of computation that ran alone in an iteration whose paces count.
constexpr double kMostAlone = 0.5;

struct Seconds {
  double measured = 0;
  double expected = 0;
  void add(const Seconds& other) {
    measured += other.measured;
    expected += other.expected;
  }
  double ratio(double where_none) const { return expected > 0 ? measured / expected : where_none; }
};

struct RankSeconds {
  Seconds by_flops, by_bytes;
  Seconds all() const {
    Seconds sum = by_flops;
    sum.add(by_bytes);
    return sum;
  }
};

const LinearFit* fit_of(const CostModel& costs, const std::string& shape, const std::string& kind) {
  auto fit = costs.fits.find(shape);
  if (fit == costs.fits.end()) fit = costs.fits.find(kind);
  return fit == costs.fits.end() ? nullptr : &fit->second;
}

/// The share of all computation's time that ran alone.
double alone_share(const Observations& seen) {
  double alone_s = 0, all_s = 0;
  for (const auto& [shape, observations] : seen.compute) {
    if (seen.copies.at(seen.kind_of.at(shape))) continue;
    for (const Observation& observation : observations) {
      all_s += observation.sample.seconds;
      if (is_alone(observation)) alone_s += observation.sample.seconds;
    }
  }
  return all_s > 0 ? alone_s / all_s : 0;
}

double mean_pace(const Paces& paces) {
  double sum = 0;
  for (const RankPace& pace : paces) sum += pace.all;
  return sum / static_cast<double>(paces.size());
}

}  // namespace

std::map<int, RankPace> rank_paces(const Observations& seen, const CostModel& costs,
                                   bool ranks_share_processors) {
  std::map<int, RankSeconds> ranks;
  for (const auto& [shape, observations] : seen.compute) {
    const std::string& kind = seen.kind_of.at(shape);
    const LinearFit* fit = fit_of(costs, shape, kind);
    if (seen.copies.at(kind) || fit == nullptr) continue;
    for (const Observation& observation : observations) {
      const Sample& sample = observation.sample;
      const double expected = seconds_of(*fit, sample.calls, sample.units);
      if (!is_alone(observation) || !(expected > 0)) continue;
      RankSeconds& rank = ranks[ranks_share_processors ? 0 : observation.rank];
      (seen.by_flops.at(kind) ? rank.by_flops : rank.by_bytes).add({sample.seconds, expected});
    }
  }
  std::map<int, RankPace> result;
  for (const auto& [rank, seconds] : ranks) {
    const double all = seconds.all().ratio(1);
    result[rank] = {seconds.by_flops.ratio(all), seconds.by_bytes.ratio(all), all};
  }
  return result;
}

std::vector<Paces> paces_of(std::span<const MeasuredIteration> iterations,
                            const moe::Groups& groups, const CostModel& costs,
                            const std::vector<SharedProcessors>& shared_processors) {
  const auto contended = contended_processors(shared_processors, groups.ranks);
  if (!contended.empty()) return {};
  std::vector<Paces> all;
  std::vector<double> means;
  for (const MeasuredIteration& iteration : iterations) {
    Observations seen;
    observe(iteration, groups, contended, costs.device, seen);
    const std::map<int, RankPace> ranks = rank_paces(seen, costs, false);
    if (alone_share(seen) < kMostAlone || ranks.size() != static_cast<std::size_t>(groups.ranks)) {
      continue;
    }
    Paces& paces = all.emplace_back();
    for (const auto& [rank, pace] : ranks) paces.push_back(pace);
    means.push_back(mean_pace(paces));
  }
  if (all.empty()) return {};
  const double median = db::median(means);
  const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(kMostPaces));
  std::vector<Paces> result;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t place = i * all.size() / kept;
    const double factor = median / means[place];
    Paces& paces = result.emplace_back(std::move(all[place]));
    for (RankPace& pace : paces) {
      pace = {pace.by_flops * factor, pace.by_bytes * factor, pace.all * factor};
    }
  }
  return result;
}

void set_paces(const moe::Program& program, const Paces& paces, ProgramCosts& costs) {
  Paces slowest(costs.classes.rank_of.size(), RankPace{0, 0, 0});  // [class]
  for (std::size_t rank = 0; rank < paces.size(); ++rank) {
    RankPace& pace = slowest[costs.classes.of_rank[rank]];
    pace = {std::max(pace.by_flops, paces[rank].by_flops),
            std::max(pace.by_bytes, paces[rank].by_bytes), std::max(pace.all, paces[rank].all)};
  }
  for (std::size_t i = 0; i < costs.ops.size(); ++i) {
    OpCost& cost = costs.ops[i];
    if (cost.activity != moe::Activity::computation) continue;
    const bool by_flops = costs_by_flops(program.ops[i]);
    if (cost.seconds.size() == 1) cost.seconds.assign(slowest.size(), cost.seconds.front());
    for (std::size_t place = 0; place < slowest.size(); ++place) {
      const RankPace& pace = slowest[place];
      cost.seconds[place] *= by_flops ? pace.by_flops : pace.by_bytes;
    }
  }
}

}  // namespace tuner
