#include "tuner/study/deviation.h"

#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "db/console/statistics.h"
#include "db/timeline/critical_path.h"
#include "tuner/study/ties.h"

namespace tuner {
namespace {

/// The fit that an op was costed with and its units there; null where the cluster's link spoke.
std::pair<const LinearFit*, double> fit_and_units(
    int place, int rank, const moe::Program& program, const moe::Groups& groups,
    const ProgramCosts& costs, const CostModel& model,
    const std::function<const moe::Binding&(int rank)>& binding_of) {
  const moe::Op& op = program.ops[place];
  const OpCost& cost = costs.ops[place];
  if (cost.activity != moe::Activity::communication) {
    const Sample units = units_of(program, op, binding_of(rank), groups, rank, model.device);
    return {&model.fits.at(fit_key(model, program, op)), units.units};
  }
  const int index = cost.call_of[costs.classes.of_rank[rank]];
  const GroupCall& call = cost.calls[index];
  const CollectiveFit* found = collective_fit(model, op, name_of(call.link));
  double bytes = 0;
  for (const Transfer& transfer : call.transfers) {
    const double copies =
        copies_of(call, static_cast<std::size_t>(member_index(call, transfer.from)));
    bytes += static_cast<double>(transfer.bytes) * transfer.out * copies;
  }
  for (std::size_t member = 0; member < call.bytes.size(); ++member) {
    const RankBytes& of_rank = call.bytes[member];
    bytes += (of_rank.out_between + of_rank.out_within) * copies_of(call, member);
  }
  return {found == nullptr ? nullptr : &found->second, bytes};
}

/// Of normal values, over the variance of one. It approaches pi / 2 / count from below.
double variance_of_median(int count) { return (count > 2 ? std::numbers::pi / 2 : 1) / count; }

}  // namespace

std::optional<double> deviation_of_fit(const LinearFit& fit, std::span<const double> seconds) {
  if (!fit.relative_deviation) return std::nullopt;
  double sum = 0, squares = 0;
  for (const double of_size : seconds) {
    sum += of_size;
    squares += of_size * of_size;
  }
  const double coefficients = (fit.alpha_s > 0 ? 1 : 0) + (fit.beta_s_per_unit > 0 ? 1 : 0);
  return *fit.relative_deviation * std::sqrt(squares + coefficients / fit.samples * sum * sum);
}

double deviation_of_prediction(double predicted_s, std::span<const double> of_fits,
                               std::optional<double> profile_deviation,
                               std::optional<double> drift_deviation) {
  const double of_profile = predicted_s * profile_deviation.value_or(0);
  const double of_drift = predicted_s * drift_deviation.value_or(0);
  double squares = of_profile * of_profile + of_drift * of_drift;
  for (const double deviation : of_fits) squares += deviation * deviation;
  return std::sqrt(squares);
}

double deviation_of_profile(const std::vector<std::vector<double>>& errors) {
  if (errors.empty()) throw std::invalid_argument("deviation_of_profile: no schedules");
  double squares = 0;
  for (const auto& of_schedule : errors) squares += std::pow(db::median(of_schedule), 2);
  const auto schedules = static_cast<double>(errors.size());
  return std::sqrt(squares / schedules * (1 + 1 / schedules));
}

std::optional<double> deviation_of_drift(std::span<const RunErrors> runs) {
  std::map<std::int64_t, std::map<int, std::vector<double>>> ratios;  // by schedule and moment
  std::set<int> moments;
  for (const RunErrors& run : runs) {
    moments.insert(run.moment);
    for (const double error : run.errors) ratios[run.schedule][run.moment].push_back(1 + error);
  }
  std::vector<Repeats> schedules;
  for (const auto& [schedule, by_moment] : ratios) {
    Repeats& of_schedule = schedules.emplace_back();
    for (const auto& [moment, values] : by_moment) of_schedule[moment] = db::median(values);
  }
  double squares = 0;
  int degrees = 0;
  for (const std::vector<double>& terms : repeat_terms(schedules)) {
    const double mean =
        std::accumulate(terms.begin(), terms.end(), 0.0) / static_cast<double>(terms.size());
    for (const double term : terms) squares += (term - mean) * (term - mean);
    degrees += static_cast<int>(terms.size()) - 1;
  }
  if (degrees == 0) return std::nullopt;
  constexpr double kOneDeviation = 0.6827;  // the share of a normal distribution within it
  constexpr double kTrialMoments = 2;       // every trial is trained at least twice (rounds.h)
  return db::student_t(degrees, kOneDeviation) * std::sqrt(squares / degrees) *
         std::sqrt(variance_of_median(static_cast<int>(moments.size())) + 1 / kTrialMoments);
}

std::vector<double> deviations_on_path(const db::Timeline& timeline, const moe::Program& program,
                                       const moe::Routing& routing, const moe::Groups& groups,
                                       const ProgramCosts& costs, const CostModel& model) {
  const moe::AllRoutedRows routed(program, routing);
  std::map<int, moe::Binding> bindings;  // of the ranks on the path
  const auto binding_of = [&](int rank) -> const moe::Binding& {
    const auto [found, is_new] = bindings.try_emplace(rank);
    if (is_new) found->second = routed.bind(groups, rank);
    return found->second;
  };
  std::map<const LinearFit*, std::map<double, double>> seconds;  // by fit and units
  for (const db::PathStep& step : db::critical_path(timeline, db::index_spans(timeline))) {
    const auto [fit, units] =
        fit_and_units(db::op_at(timeline, step.at).op, db::rank_at(timeline, step.at), program,
                      groups, costs, model, binding_of);
    if (fit != nullptr) seconds[fit][units] += step.seconds;
  }
  std::vector<double> deviations;
  for (const auto& [fit, by_units] : seconds) {
    std::vector<double> of_sizes;
    for (const auto& [units, sum] : by_units) of_sizes.push_back(sum);
    if (const auto deviation = deviation_of_fit(*fit, of_sizes)) deviations.push_back(*deviation);
  }
  return deviations;
}

}  // namespace tuner
