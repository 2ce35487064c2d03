#include "tuner/study/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/timeline.h"
#include "tuner/costs/calibrate.h"
#include "tuner/costs/fit_measurements.h"
#include "tuner/costs/observe.h"
#include "tuner/costs/rank_slowdown.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/study/deviation.h"
#include "tuner/study/measured_runs.h"

namespace tuner {
namespace {

constexpr int kMostRoutings = 16;

std::vector<int> nodes_of(const std::vector<db::RunRank>& ranks) {
  std::vector<int> nodes;
  for (const db::RunRank& rank : ranks) nodes.push_back(rank.node);
  return nodes;
}

/// Of at most kMostRoutings iterations after the warm-up, in order, among those whose loads are
/// stored.
std::vector<moe::Routing> routings_of_run(const db::Connection& connection, std::int64_t run_id,
                                          const moe::Program& program, const moe::Groups& groups) {
  std::vector<int> iterations = db::load_recorded_iterations(connection, run_id);
  if (!iterations.empty() && iterations.back() > moe::kWarmupIterations) {
    std::erase_if(iterations, [](int iteration) { return iteration <= moe::kWarmupIterations; });
  }
  const auto kept = std::min(iterations.size(), static_cast<std::size_t>(kMostRoutings));
  std::vector<moe::Routing> routings;
  for (std::size_t i = 0; i < kept; ++i) {
    routings.push_back(moe::exchanged_rows(
        program, recorded_routing(connection, run_id, iterations[i * iterations.size() / kept],
                                  program, groups)));
  }
  return routings;
}

}  // namespace

std::vector<SharedProcessors> shared_processors(const std::vector<db::RunRank>& ranks) {
  std::map<int, SharedProcessors> by_set;
  for (const db::RunRank& rank : ranks) {
    if (!rank.core_set || !rank.cores || !rank.threads) continue;
    SharedProcessors& shared = by_set[*rank.core_set];
    // A rank alone on its cores has all its threads, and its costs include how long they wait for
    // each other.
    shared.seats = std::max(1.0, static_cast<double>(*rank.cores) / *rank.threads);
    shared.ranks.push_back(rank.rank);
  }
  std::vector<SharedProcessors> result;
  for (auto& [set, shared] : by_set) {
    if (shared.ranks.size() > 1) result.push_back(std::move(shared));
  }
  return result;
}

std::string decisions_of_run(const db::Connection& connection, std::int64_t run_id) {
  const db::Run run = db::load_run(connection, run_id);
  if (!run.schedule_id) return "";
  return moe::decisions_json(
      moe::schedule_from_json(db::load_schedule(connection, *run.schedule_id).json));
}

namespace {

/// The machine that the costs were measured on.
CostedCluster machine_of_profile(const CostModel& costs, const db::Run& first, int nodes,
                                 const std::vector<SharedProcessors>& shared,
                                 const Observations& seen) {
  std::vector<db::Fit> fits;
  for (const auto& [key, fit] : costs.fits) {
    fits.push_back(to_record(key, fit, costs.device, first.ranks));
  }
  CostedCluster machine = measured_cluster(fits, kMeasuredCluster, first.device, std::max(nodes, 1),
                                           (first.ranks + nodes - 1) / std::max(nodes, 1));
  machine.costs = costs;
  machine.cluster.shared_processors = shared;
  Link& inside = machine.cluster.intra_node;
  if (inside.bandwidth_bytes_per_s == 0) {
    inside.bandwidth_bytes_per_s = seen.least_intra_node_bytes_per_s;
  }
  return machine;
}

/// Where the rate inside nodes is not measured, but a bound.
std::string remark_on_links(const CostedCluster& machine) {
  const auto is_inside = [](const auto& fit) { return fit.first.ends_with("/intra_node"); };
  const double inside = machine.cluster.intra_node.bandwidth_bytes_per_s;
  if (inside == 0 || std::ranges::any_of(machine.costs.fits, is_inside)) return "";
  return fmt::format(
      "no collective stayed inside a node: the links there are taken to have {}, which they had at "
      "least in collectives that cross nodes too",
      db::format_cell("bytes_per_s", inside));
}

/// [run][iteration]: how far the costs predict its time from what it took, over that time. Each is
/// predicted with its own routing, and over the slowdowns of all profiled iterations, as a trial is.
std::vector<std::vector<double>> errors_of_profile(const MeasuredRuns& profiled,
                                                   const Profile& profile) {
  std::vector<std::vector<double>> errors(profiled.programs.size());
  for (std::size_t i = 0; i < profiled.iterations.size(); ++i) {
    const MeasuredIteration& iteration = profiled.iterations[i];
    const Situation situation{*iteration.program, profile.groups, profiled.routings[i],
                              profile.machine.costs, profile.machine.cluster};
    const double predicted = simulated_s(situation, {});
    errors[profiled.runs[i]].push_back(predicted / iteration.timeline.duration_s - 1);
  }
  return errors;
}

/// Errors of runs, those under one schedule together.
std::vector<std::vector<double>> by_schedule(std::span<const RunErrors> runs) {
  std::map<std::int64_t, std::vector<double>> together;
  for (const RunErrors& run : runs) {
    std::vector<double>& of_schedule = together[run.schedule];
    of_schedule.insert(of_schedule.end(), run.errors.begin(), run.errors.end());
  }
  std::vector<std::vector<double>> result;
  for (auto& [schedule, of_schedule] : together) result.push_back(std::move(of_schedule));
  return result;
}

/// Stored runs of one model on as many ranks, read one after the other.
class StoredRuns {
 public:
  StoredRuns(const db::Connection& connection, const moe::Groups& groups, const moe::Program& whole,
             const db::Run& first)
      : connection_(connection), groups_(groups), whole_(whole), first_(first) {}

  void add(std::int64_t id) {
    const db::Run run = db::load_run(connection_, id);
    if (run.ranks != first_.ranks) {
      throw moe::InputError(fmt::format("profile: run {} has {} ranks, run {} has {}", run.id,
                                        run.ranks, first_.id, first_.ranks));
    }
    if (!run.schedule_id) {
      throw moe::InputError(fmt::format("profile: run {} has no schedule", run.id));
    }
    if (!add_run(connection_, groups_, whole_, run, measured_)) {
      throw db::Error(db::ErrorKind::not_found,
                      fmt::format("run {}: no measured timeline", run.id));
    }
    // Runs that take turns in one training begin together.
    const auto next = static_cast<int>(began_at_.size());
    moments_.push_back(began_at_.try_emplace(run.started_at, next).first->second);
    schedules_.push_back(*run.schedule_id);
  }

  const MeasuredRuns& measured() const { return measured_; }

  /// What is seen in all iterations.
  Observations seen(const std::vector<SharedProcessors>& shared) const {
    return observe(measured_.iterations, groups_, shared, first_.device);
  }

  /// Of each run from this one on, given the errors of all.
  std::vector<RunErrors> errors(const std::vector<std::vector<double>>& all,
                                std::size_t from_run) const {
    std::vector<RunErrors> result;
    for (std::size_t run = from_run; run < all.size(); ++run) {
      result.push_back({schedules_[run], moments_[run], all[run]});
    }
    return result;
  }

 private:
  const db::Connection& connection_;
  const moe::Groups& groups_;
  const moe::Program& whole_;
  const db::Run& first_;
  MeasuredRuns measured_;
  std::vector<std::int64_t> schedules_;  ///< [run]
  std::vector<int> moments_;             ///< [run]: counted from 0
  std::map<double, int> began_at_;       ///< when a moment began -> the moment
};

}  // namespace

Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids,
                          const std::vector<std::int64_t>& trials, const CostsAsked& asked) {
  if (run_ids.empty()) throw moe::InputError("profile: no runs");
  Profile profile;
  const db::Run first = db::load_run(connection, run_ids.front());
  const std::vector<db::RunRank> ranks = db::load_run_ranks(connection, first.id);
  if (ranks.size() != static_cast<std::size_t>(first.ranks)) {
    throw db::Error(db::ErrorKind::invalid,
                    fmt::format("{}: run {} has {} ranks, and run_rank tells of {}",
                                connection.path(), first.id, first.ranks, ranks.size()));
  }
  const std::vector<int> nodes = nodes_of(ranks);
  const std::vector<SharedProcessors> shared = shared_processors(ranks);
  profile.groups = moe::make_groups(moe::parse_layout(layout, first.ranks), nodes);
  const moe::Program whole = moe::build_iteration(model, profile.groups, 0);
  if (moe::row_handling(whole).empty()) {
    profile.routings.emplace_back();
  } else {
    profile.routings = routings_of_run(connection, first.id, whole, profile.groups);
  }

  StoredRuns fitted(connection, profile.groups, whole, first);
  for (const std::int64_t id : run_ids) fitted.add(id);
  for (const std::int64_t id : trials) fitted.add(id);
  const std::vector<MeasuredIteration>& iterations = fitted.measured().iterations;
  CostModel costs = calibrate(iterations, profile.groups, first.device, shared, asked.parts);
  costs.slowdowns = slowdowns_of(iterations, profile.groups, costs, shared, asked.parts);
  const int node_count = static_cast<int>(std::set<int>(nodes.begin(), nodes.end()).size());
  profile.machine = machine_of_profile(costs, first, node_count, shared, fitted.seen(shared));
  profile.remark = remark_on_links(profile.machine);
  if (!asked.with_errors) return profile;
  profile.errors = errors_of_profile(fitted.measured(), profile);
  const std::size_t judged_from = trials.empty() ? 0 : run_ids.size();  // run
  const std::vector<RunErrors> judged = fitted.errors(profile.errors, judged_from);
  CostModel& stated = profile.machine.costs;
  stated.profile_deviation = deviation_of_profile(by_schedule(judged));
  stated.drift_deviation = deviation_of_drift(judged);
  return profile;
}

}  // namespace tuner
