#include "tuner/study/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
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
#include "tuner/costs/pace.h"
#include "tuner/costs/rank_slowdown.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_place.h"
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

/// How much another network's rate may differ from what training saw, for its interference to speak
/// of this one: a card half as fast leaves a core about twice the time.
constexpr double kSameRate = 1.25;

/// True where a message between nodes took alone, in this measurement, what these costs say: the
/// same network. True too where the measurement is of none, or the costs know of none.
bool is_same_network(const db::Measurement& row, const CostModel& costs, int nodes) {
  const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  if (!parameters.is_object() || parameters.value("activity", "") != "inter_node") return true;
  const auto fit = costs.fits.find(link_key("all_to_all", "inter_node"));
  if (fit == costs.fits.end() || row.bytes == 0) return true;
  const double bytes = *wire_bytes("all_to_all", static_cast<double>(row.bytes), nodes);
  const double ratio = parameters.value("alone_s", 0.0) / seconds_of(fit->second, 1, bytes);
  return ratio < kSameRate && ratio > 1 / kSameRate;
}

/// What `moe-bench interference` has measured on nodes and a network like those of a run of the
/// same computer, for what timelines do not tell: few trainings do so much at a time.
void set_unknown_speeds_beside_all(const db::Connection& connection, const db::Run& like,
                                   const std::vector<int>& nodes, int node_count,
                                   CostModel& costs) {
  auto rows = db::load_measurements(connection, {.op = "interference", .device = like.device});
  std::map<std::int64_t, bool> is_like;  // by run
  for (const db::Measurement& row : rows) {
    const auto [known, is_new] = is_like.try_emplace(row.run_id, true);
    if (is_new) {
      known->second =
          row.ranks == like.ranks &&
          db::load_run(connection, row.run_id).machine_id == like.machine_id &&
          nodes_of(db::load_run_ranks(connection, row.run_id)) == nodes &&
          differences(place_of_run(connection, row.run_id), place_of_run(connection, like.id))
              .empty();
    }
    known->second = known->second && is_same_network(row, costs, node_count);
  }
  std::erase_if(rows, [&](const db::Measurement& row) { return !is_like.at(row.run_id); });
  Interference measured;
  for (const db::Fit& fit : fit_measurements(rows, {})) {
    if (fit.op.ends_with("_beside_all")) {
      set_speed(measured, fit.op, 1 / fit.beta_s_per_unit);
    }
  }
  for (std::size_t y = 0; y < kOccupations; ++y) {
    auto& known = costs.interference.beside_all[y];
    if (!known) known = measured.beside_all[y];
  }
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
    const double predicted = simulated_program_s(situation, *iteration.program);
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

  /// How many times as long computation took as these costs say, at each moment of the runs from
  /// this one on. Moments in which no op ran alone are left out.
  std::vector<RankSlowdown> paces(const std::vector<SharedProcessors>& shared,
                                  const CostModel& costs, std::size_t from_run) const {
    std::map<int, std::vector<Observations>> by_moment;  // of their iterations
    for (std::size_t i = 0; i < measured_.iterations.size(); ++i) {
      if (measured_.runs[i] < from_run) continue;
      by_moment[moments_[measured_.runs[i]]].push_back(
          observe({&measured_.iterations[i], 1}, groups_, shared, first_.device));
    }
    std::vector<RankSlowdown> result;
    for (const auto& [moment, iterations] : by_moment) {
      if (const auto pace = pace_of(iterations, costs)) result.push_back(*pace);
    }
    return result;
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
                          const LaterRuns& later, const CostsAsked& asked) {
  const CostParts& parts = asked.parts;
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
  for (const std::int64_t id : later.trials) fitted.add(id);
  const std::vector<MeasuredIteration>& iterations = fitted.measured().iterations;
  CostModel costs = calibrate(iterations, profile.groups, first.device, shared, parts);
  const int node_count = static_cast<int>(std::set<int>(nodes.begin(), nodes.end()).size());
  if (parts.has(CostPart::beside_all)) {
    set_unknown_speeds_beside_all(connection, first, nodes, node_count, costs);
  }
  costs.slowdowns = slowdowns_of(iterations, profile.groups, costs, shared, parts);

  const Observations seen = fitted.seen(shared);
  const bool has_trials = !later.trials.empty();
  const std::size_t judged_from = has_trials ? run_ids.size() : 0;  // run
  std::vector<RankSlowdown> paces;
  if (parts.has(CostPart::pace)) paces = fitted.paces(shared, costs, judged_from);
  if (has_trials) profile.pace = set_pace(paces, seen, costs);
  profile.machine = machine_of_profile(costs, first, node_count, shared, seen);
  profile.remark = remark_on_links(profile.machine);
  if (asked.with_errors) profile.errors = errors_of_profile(fitted.measured(), profile);
  if (!has_trials && parts.has(CostPart::pace)) {
    StoredRuns micro_profiles(connection, profile.groups, whole, first);
    for (const std::int64_t id : later.micro_profiles) {
      if (has_measured_timeline(connection, id)) micro_profiles.add(id);
    }
    std::ranges::move(micro_profiles.paces(shared, costs, 0), std::back_inserter(paces));
    profile.pace = set_pace(paces, seen, profile.machine.costs);
  }
  if (!asked.with_errors) return profile;
  const std::vector<RunErrors> judged = fitted.errors(profile.errors, judged_from);
  CostModel& stated = profile.machine.costs;
  stated.profile_deviation = deviation_of_profile(by_schedule(judged));
  stated.drift_deviation = deviation_of_drift(judged, std::max(static_cast<int>(paces.size()), 1));
  return profile;
}

}  // namespace tuner
