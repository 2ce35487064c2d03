#include "tuner/study/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/timeline.h"
#include "tuner/costs/calibrate.h"
#include "tuner/costs/fit_records.h"
#include "tuner/costs/measured_cards.h"
#include "tuner/costs/observe.h"
#include "tuner/machine/deviation.h"
#include "tuner/machine/slowdown.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/study/carried_routing.h"

namespace tuner {
namespace {

constexpr int kMostRoutings = 16;

std::vector<int> nodes_of(const std::vector<db::RunRank>& ranks) {
  std::vector<int> nodes;
  for (const db::RunRank& rank : ranks) nodes.push_back(rank.node);
  return nodes;
}

struct Shape {
  int nodes = 1, ranks_per_node = 1;
};
Shape shape_of(const moe::Groups& groups) {
  const std::set<int> numbers(groups.node_of.begin(), groups.node_of.end());
  const int nodes = static_cast<int>(numbers.size());
  return {nodes, (groups.ranks + nodes - 1) / nodes};
}

/// Of at most kMostRoutings iterations after the warm-up, in order, among those whose loads are
/// stored. `program`: what the run trained.
std::vector<moe::Routing> routings_of_run(const db::Connection& connection, std::int64_t run_id,
                                          const moe::Program& program) {
  std::vector<int> iterations = db::load_recorded_iterations(connection, run_id);
  if (!iterations.empty() && iterations.back() > moe::kWarmupIterations) {
    std::erase_if(iterations, [](int iteration) { return iteration <= moe::kWarmupIterations; });
  }
  const auto kept = std::min(iterations.size(), static_cast<std::size_t>(kMostRoutings));
  std::vector<moe::Routing> routings;
  for (std::size_t i = 0; i < kept; ++i) {
    routings.push_back(moe::exchanged_rows(
        program, recorded_routing(connection, run_id, iterations[i * iterations.size() / kept],
                                  program, program.groups)));
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

/// The iterations without decisions that runs of one model trained, each in the layout of the run and
/// with its micro-batches.
class TrainedPrograms {
 public:
  TrainedPrograms(const moe::Model& model, const moe::Groups& groups)
      : model_(model), groups_(groups) {}

  const moe::Program& of(const db::Run& run) {
    const auto [found, is_new] = known_.try_emplace({run.layout, run.model_json}, std::nullopt);
    if (is_new) {
      moe::Groups groups = groups_;
      if (!run.layout.empty()) groups.layout = moe::layout_from_text(run.layout);
      found->second = moe::build_iteration(
          run.model_json.empty() ? model_ : moe::model_from_json(run.model_json, "a run's model"),
          groups, 0);
    }
    return *found->second;
  }

 private:
  const moe::Model& model_;
  const moe::Groups& groups_;
  std::map<std::pair<std::string, std::string>, std::optional<moe::Program>> known_;
};

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
    const Situation situation{*iteration.program, iteration.program->groups, iteration.routing,
                              profile.machine.costs, profile.machine.cluster};
    const double predicted = simulated_s(situation, {});
    errors[profiled.runs[i]].push_back(predicted / iteration.timeline.duration_s - 1);
  }
  return errors;
}

}  // namespace

moe::Groups groups_of_run(const db::Connection& connection, const db::Run& run,
                          std::string_view layout) {
  const std::vector<db::RunRank> ranks = db::load_run_ranks(connection, run.id);
  if (ranks.size() != static_cast<std::size_t>(run.ranks)) {
    throw db::Error(db::ErrorKind::invalid,
                    fmt::format("{}: run {} has {} ranks, and run_rank tells of {}",
                                connection.path(), run.id, run.ranks, ranks.size()));
  }
  moe::Groups groups = moe::make_groups(moe::parse_layout(layout, run.ranks), nodes_of(ranks));
  const int ranks_per_node = shape_of(groups).ranks_per_node;
  use_cards(groups, ranks_per_node, measured_cards(run.network, ranks_per_node));
  return groups;
}

ProfiledRuns read_profiled_runs(const db::Connection& connection, const moe::Model& model,
                                std::string_view layout, const std::vector<std::int64_t>& run_ids,
                                const std::vector<std::int64_t>& trials) {
  if (run_ids.empty()) throw moe::InputError("profile: no runs");
  ProfiledRuns read;
  const db::Run first = db::load_run(connection, run_ids.front());
  read.device = first.device;
  read.network = first.network;
  read.shared = shared_processors(db::load_run_ranks(connection, first.id));
  read.groups = groups_of_run(connection, first, layout);
  TrainedPrograms trained(model, read.groups);
  const moe::Program own = moe::build_iteration(model, read.groups, 0);
  if (moe::row_handling(own).empty()) {
    read.routings.emplace_back();
  } else {
    read.routings = routings_of_run(connection, first.id, trained.of(first));
    const moe::Program& there = trained.of(first);
    if (there.groups.layout != own.groups.layout || there.micro_batches != own.micro_batches) {
      for (moe::Routing& routing : read.routings) routing = carried_routing(routing, there, own);
    }
  }
  std::map<double, int> began_at;  // runs that take turns in one training begin together
  for (const auto* ids : {&run_ids, &trials}) {
    if (!ids->empty()) read.judged.clear();  // with trials, only they
    for (const std::int64_t id : *ids) {
      const db::Run run = db::load_run(connection, id);
      if (run.ranks != first.ranks) {
        throw moe::InputError(fmt::format("profile: run {} has {} ranks, run {} has {}", run.id,
                                          run.ranks, first.id, first.ranks));
      }
      if (!run.schedule_id) {
        throw moe::InputError(fmt::format("profile: run {} has no schedule", run.id));
      }
      if (!add_run(connection, trained.of(run), run, read.measured)) {
        throw db::Error(db::ErrorKind::not_found,
                        fmt::format("run {}: no measured timeline", run.id));
      }
      const int moment =
          began_at.try_emplace(run.started_at, static_cast<int>(began_at.size())).first->second;
      read.judged.push_back({*run.schedule_id, moment, {}});
    }
  }
  return read;
}

Profile profile_of(const ProfiledRuns& read, const CostParts& parts) {
  const std::vector<MeasuredIteration>& iterations = read.measured.iterations;
  CostModel costs = calibrate(iterations, read.device, read.shared, parts);
  if (parts.has(CostPart::slowdowns)) {
    costs.slowdowns = slowdowns_of(iterations, costs, read.shared);
  }
  const Shape shape = shape_of(read.groups);
  Profile profile{.machine = measured_cluster(std::move(costs), kMeasuredCluster, shape.nodes,
                                              shape.ranks_per_node),
                  .groups = read.groups,
                  .errors = {},
                  .remark = {},
                  .routings = read.routings};
  Cluster& cluster = profile.machine.cluster;
  divide_cards(profile.machine, measured_cards(read.network, cluster.ranks_per_node));
  Link& inside = cluster.intra_node;
  if (inside.bandwidth_bytes_per_s == 0) {
    inside.bandwidth_bytes_per_s =
        observe(iterations, read.shared, read.device).least_intra_node_bytes_per_s;
  }
  cluster.shared_processors = read.shared;
  profile.remark = remark_on_links(profile.machine);
  return profile;
}

Profile carried_profile(const Profile& profile, const moe::Program& from, moe::Program to) {
  Profile carried{profile.machine, profile.groups, {}, {}, {}};
  carried.groups.layout = to.groups.layout;
  to.groups = carried.groups;
  for (const moe::Routing& routing : profile.routings) {
    carried.routings.push_back(carried_routing(routing, from, to));
  }
  return carried;
}

Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids,
                          const std::vector<std::int64_t>& trials) {
  const ProfiledRuns read = read_profiled_runs(connection, model, layout, run_ids, trials);
  Profile profile = profile_of(read);
  profile.errors = errors_of_profile(read.measured, profile);
  std::vector<RunErrors> judged = read.judged;
  auto errors = profile.errors.end() - static_cast<std::ptrdiff_t>(judged.size());
  for (RunErrors& run : judged) run.errors = *errors++;
  profile.machine.costs.deviation = deviation_of(judged);
  return profile;
}

}  // namespace tuner
