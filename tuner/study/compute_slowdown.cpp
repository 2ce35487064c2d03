#include "tuner/study/compute_slowdown.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"

namespace tuner {
namespace {

struct Seconds {
  double measured = 0;
  double expected = 0;
  void add(const Seconds& other) {
    measured += other.measured;
    expected += other.expected;
  }
  double ratio(double where_none) const { return expected > 0 ? measured / expected : where_none; }
};

const LinearFit* fit_of(const CostModel& costs, const std::string& shape, const std::string& kind) {
  auto fit = costs.fits.find(shape);
  if (fit == costs.fits.end()) fit = costs.fits.find(kind);
  return fit == costs.fits.end() ? nullptr : &fit->second;
}

/// The observations of one shape on one rank that were alone.
struct Alone {
  Seconds seconds;
  std::vector<double> ratios;
};

/// By rank; all under rank 0 where they share processors.
std::map<int, Alone> alone_by_rank(const std::vector<Observation>& observations,
                                   const LinearFit& fit, bool ranks_share_processors) {
  std::map<int, Alone> by_rank;
  for (const Observation& observation : observations) {
    const Sample& sample = observation.sample;
    if (!is_alone(observation)) continue;
    const double expected = seconds_of(fit, sample.calls, sample.units);
    if (!(expected > 0)) continue;
    Alone& alone = by_rank[ranks_share_processors ? 0 : observation.rank];
    alone.seconds.add({sample.seconds, expected});
    alone.ratios.push_back(sample.seconds / expected);
  }
  return by_rank;
}

struct RankSeconds {
  Seconds by_flops, by_bytes;
  Seconds all() const {
    Seconds sum = by_flops;
    sum.add(by_bytes);
    return sum;
  }
};

std::string_view kind_of(std::string_view key) { return key.substr(0, key.find('[')); }

bool is_of_link(std::string_view key) { return key.find('/') != std::string_view::npos; }

bool is_of_copies(std::string_view key, const Observations& seen) {
  const auto kind = seen.copies.find(std::string(kind_of(key)));
  return key == "copy" || (kind != seen.copies.end() && kind->second);
}

LinearFit times(LinearFit fit, double factor) {
  fit.alpha_s *= factor;
  fit.beta_s_per_unit *= factor;
  if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
  if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  for (SizeTime& point : fit.points) point.seconds *= factor;
  return fit;
}

}  // namespace

std::map<int, ComputeSlowdown> against_costs(const Observations& seen, const CostModel& costs,
                                             bool ranks_share_processors) {
  std::map<int, RankSeconds> ranks;
  for (const auto& [shape, observations] : seen.compute) {
    const std::string& kind = seen.kind_of.at(shape);
    const LinearFit* fit = fit_of(costs, shape, kind);
    if (seen.copies.at(kind) || fit == nullptr) continue;
    for (auto& [rank, alone] : alone_by_rank(observations, *fit, ranks_share_processors)) {
      Seconds seconds = alone.seconds;
      if (!ranks_share_processors) seconds.measured = seconds.expected * db::median(alone.ratios);
      (seen.by_flops.at(kind) ? ranks[rank].by_flops : ranks[rank].by_bytes).add(seconds);
    }
  }
  std::map<int, ComputeSlowdown> result;
  for (const auto& [rank, seconds] : ranks) {
    const double all = seconds.all().ratio(1);
    result[rank] = {seconds.by_flops.ratio(all), seconds.by_bytes.ratio(all), all};
  }
  return result;
}

std::optional<ComputeSlowdown> compute_slowdown(const std::map<int, ComputeSlowdown>& trials,
                                                const std::map<int, ComputeSlowdown>& profile) {
  std::optional<ComputeSlowdown> most;
  for (const auto& [rank, trial] : trials) {
    const auto before = profile.find(rank);
    if (before == profile.end()) continue;
    const ComputeSlowdown& base = before->second;
    const ComputeSlowdown slowdown{trial.by_flops / base.by_flops, trial.by_bytes / base.by_bytes,
                                   trial.all / base.all};
    if (!most || slowdown.all > most->all) most = slowdown;
  }
  return most;
}

CostModel slowed(CostModel costs, const ComputeSlowdown& slowdown, const Observations& seen) {
  for (auto& [key, fit] : costs.fits) {
    if (is_of_link(key) || is_of_copies(key, seen) || fit.unit == "second") continue;
    const double factor = fit.unit == "flop" ? slowdown.by_flops : slowdown.by_bytes;
    fit = times(std::move(fit), factor);
  }
  return costs;
}

}  // namespace tuner
