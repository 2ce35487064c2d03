#include "tuner/machine/slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"

namespace tuner {
namespace {

/// The least share of computation that ran alone in an iteration whose slowdowns count.
constexpr double kLeastAlone = 0.5;

const LinearFit* fit_of(const CostModel& costs, const std::string& shape, const std::string& kind) {
  auto fit = costs.fits.find(shape);
  if (fit == costs.fits.end()) fit = costs.fits.find(kind);
  return fit == costs.fits.end() ? nullptr : &fit->second;
}

/// The share of all computation's time that ran alone.
double alone_share(const Observations& seen) {
  double alone_s = 0, all_s = 0;
  for (const auto& [key, shape] : seen.compute) {
    if (shape.copies) continue;
    for (const Observation& observation : shape.all) {
      all_s += observation.sample.seconds;
      if (is_alone(observation)) alone_s += observation.sample.seconds;
    }
  }
  return all_s > 0 ? alone_s / all_s : 0;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::optional<Slowdowns> slowdowns_in(const Observations& seen, const CostModel& costs, int ranks,
                                      const std::vector<SharedProcessors>& shared_processors) {
  const auto all = static_cast<std::size_t>(ranks);
  std::vector<double> measured(all), expected(all);
  for (const auto& [key, shape] : seen.compute) {
    const LinearFit* fit = fit_of(costs, key, shape.kind);
    if (shape.copies || fit == nullptr) continue;
    for (const Observation& observation : shape.all) {
      if (!is_alone(observation)) continue;
      const Sample& sample = observation.sample;
      measured[observation.rank] += sample.seconds;
      expected[observation.rank] += seconds_of(*fit, sample.calls, sample.units);
    }
  }
  if (ranks_contend(shared_processors, ranks)) {
    measured.assign(all, sum_of(measured));
    expected.assign(all, sum_of(expected));
  }
  Slowdowns slowdowns;
  for (std::size_t rank = 0; rank < all; ++rank) {
    if (!(measured[rank] > 0) || !(expected[rank] > 0)) return std::nullopt;
    slowdowns.push_back(measured[rank] / expected[rank]);
  }
  return slowdowns;
}

std::vector<Slowdowns> slowdowns_of(std::span<const MeasuredIteration> iterations,
                                    const CostModel& costs,
                                    const std::vector<SharedProcessors>& shared_processors) {
  const int ranks = iterations.empty() ? 1 : iterations.front().program->groups.ranks;
  if (ranks == 1 || ranks_contend(shared_processors, ranks)) return {};
  std::vector<Slowdowns> all;
  std::vector<double> means;
  for (const MeasuredIteration& iteration : iterations) {
    const Observations seen = observe({&iteration, 1}, shared_processors, costs.device);
    std::optional<Slowdowns> slowdowns = slowdowns_in(seen, costs, ranks, shared_processors);
    if (!slowdowns || alone_share(seen) < kLeastAlone) continue;
    means.push_back(db::mean(*slowdowns));
    all.push_back(std::move(*slowdowns));
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
