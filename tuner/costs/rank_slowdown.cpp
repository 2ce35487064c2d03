#include "tuner/costs/rank_slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"

namespace tuner {
namespace {

/// The least share of computation that ran alone in an iteration whose slowdowns count.
constexpr double kLeastAlone = 0.5;

struct Seconds {
  double measured = 0, expected = 0;
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

double mean_slowdown(const Slowdowns& slowdowns) {
  double sum = 0;
  for (const double slowdown : slowdowns) sum += slowdown;
  return sum / static_cast<double>(slowdowns.size());
}

}  // namespace

std::map<int, double> rank_slowdowns(const Observations& seen, const CostModel& costs,
                                     bool ranks_share_processors) {
  std::map<int, Seconds> ranks;
  for (const auto& [shape, observations] : seen.compute) {
    const std::string& kind = seen.kind_of.at(shape);
    const LinearFit* fit = fit_of(costs, shape, kind);
    if (seen.copies.at(kind) || fit == nullptr) continue;
    for (const Observation& observation : observations) {
      const Sample& sample = observation.sample;
      const double expected = seconds_of(*fit, sample.calls, sample.units);
      if (!is_alone(observation) || !(expected > 0)) continue;
      Seconds& rank = ranks[ranks_share_processors ? 0 : observation.rank];
      rank.measured += sample.seconds;
      rank.expected += expected;
    }
  }
  std::map<int, double> result;
  for (const auto& [rank, seconds] : ranks) result[rank] = seconds.measured / seconds.expected;
  return result;
}

std::vector<Slowdowns> slowdowns_of(std::span<const MeasuredIteration> iterations,
                                    const moe::Groups& groups, const CostModel& costs,
                                    const std::vector<SharedProcessors>& shared_processors,
                                    const CostParts& parts) {
  if (!parts.has(CostPart::slowdowns)) return {};
  if (groups.ranks == 1 || ranks_contend(shared_processors, groups.ranks)) return {};
  std::vector<Slowdowns> all;
  std::vector<double> means;
  for (const MeasuredIteration& iteration : iterations) {
    const Observations seen = observe({&iteration, 1}, groups, shared_processors, costs.device);
    const std::map<int, double> ranks = rank_slowdowns(seen, costs, false);
    if (alone_share(seen) < kLeastAlone || ranks.size() != static_cast<std::size_t>(groups.ranks)) {
      continue;
    }
    Slowdowns& slowdowns = all.emplace_back();
    for (const auto& [rank, slowdown] : ranks) slowdowns.push_back(slowdown);
    means.push_back(mean_slowdown(slowdowns));
  }
  if (all.empty()) return {};
  const double median = db::median(means);
  const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(kMostSlowdowns));
  std::vector<Slowdowns> result;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t place = i * all.size() / kept;
    const double factor = median / means[place];
    Slowdowns& slowdowns = result.emplace_back(std::move(all[place]));
    for (double& slowdown : slowdowns) slowdown *= factor;
  }
  return result;
}

std::span<const Slowdowns> slowdowns_of_ranks(const CostModel& costs, int ranks) {
  const std::span<const Slowdowns> slowdowns = costs.slowdowns;
  const bool are_of_ranks =
      !slowdowns.empty() && slowdowns.front().size() == static_cast<std::size_t>(ranks);
  return are_of_ranks ? slowdowns : std::span<const Slowdowns>{};
}

void slow_to(const Slowdowns& mean, CostModel& costs) {
  if (slowdowns_of_ranks(costs, static_cast<int>(mean.size())).empty()) {
    costs.slowdowns = {mean};
    return;
  }
  for (std::size_t rank = 0; rank < mean.size(); ++rank) {
    double sum = 0;
    for (const Slowdowns& iteration : costs.slowdowns) sum += iteration[rank];
    const double factor = mean[rank] * static_cast<double>(costs.slowdowns.size()) / sum;
    for (Slowdowns& iteration : costs.slowdowns) iteration[rank] *= factor;
  }
}

void set_slowdowns(const Slowdowns& slowdowns, ProgramCosts& costs) {
  if (slowdowns.size() != costs.classes.of_rank.size()) {
    throw std::invalid_argument(fmt::format("set_slowdowns: of {} ranks, the costs are of {}",
                                            slowdowns.size(), costs.classes.of_rank.size()));
  }
  const std::size_t classes = costs.classes.rank_of.size();
  std::vector<double> slowest(classes, 0);
  for (std::size_t rank = 0; rank < slowdowns.size(); ++rank) {
    double& of_class = slowest[costs.classes.of_rank[rank]];
    of_class = std::max(of_class, slowdowns[rank]);
  }
  for (OpCost& cost : costs.ops) {
    if (cost.activity != moe::Activity::computation) continue;
    if (cost.seconds.size() == 1) cost.seconds.assign(classes, cost.seconds.front());
    for (std::size_t place = 0; place < classes; ++place) cost.seconds[place] *= slowest[place];
  }
}

}  // namespace tuner
