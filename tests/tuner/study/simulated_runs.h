#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "db/identity.h"
#include "db/store.h"
#include "moe/model/iteration.h"
#include "moe/train/train_store.h"
#include "tests/tuner/calibrated_model.h"
#include "tests/tuner/small_program.h"
#include "tuner/machine/slowdown.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/profile.h"
#include "tuner/study/profile_schedules.h"

namespace tuner::test {

/// Runs of two ranks on two nodes that a machine with known costs has simulated; the micro-batches
/// of their iterations route differently.
struct SimulatedRuns {
  moe::Model model = [] {
    moe::Model two_micro_batches = calibrated_model();
    two_micro_batches.micro_batches = 2;
    return two_micro_batches;
  }();
  moe::Groups groups = moe::make_groups(2, 2, {0, 1});
  moe::Program program = moe::build_iteration(model, groups, 0);
  CostModel truth = test::plain_costs();
  Cluster cluster;
  db::Connection connection = db::open_writer(":memory:");
  std::vector<std::int64_t> ids;

  Slowdowns slowdowns;  ///< of the ranks, in all iterations
  /// When runs that are stored from now on began, if they take turns in one training.
  std::optional<double> began_at;

  explicit SimulatedRuns(bool micro_batches_apart, Slowdowns of_ranks = Slowdowns(2, 1))
      : slowdowns(std::move(of_ranks)) {
    cluster.nodes = 2;
    cluster.inter_node = {2.5e8, 0};
    for (const ProfileSchedule& schedule : profile_schedules(program)) {
      store(schedule.schedule, micro_batches_apart);
    }
  }

  void store(const moe::Schedule& schedule, bool micro_batches_apart) {
    const char* argv[] = {"test"};
    db::Run run = db::this_run("train", "test", 1, argv);
    run.ranks = 2;
    run.layout = moe::to_text(groups.layout);
    if (began_at) run.started_at = *began_at;
    ids.push_back(db::begin_run(connection, run, db::this_machine(), moe::schedule_row(schedule)));
    std::vector<moe::RankInfo> ranks(2);
    ranks[1].node = 1;
    db::insert(connection, moe::rank_rows(ids.back(), ranks, {}));
    const moe::Program scheduled = moe::apply(program, schedule);
    for (int iteration = 10; iteration < 13; ++iteration) {
      // Most of the first micro-batch goes to the experts of rank 0, most of the second to those of
      // rank 1: together they are even.
      moe::Routing routing = make_routing("uniform", program, groups, 1);
      for (moe::LayerRouting& layer : routing.layers) {
        for (auto& row : layer.tokens) {
          for (std::size_t e = 0; e < row.size(); ++e) {
            const bool first_half = e < row.size() / 2;
            row[e] = first_half == (layer.micro_batch == 0) ? 2 * row[e] - iteration : iteration;
          }
        }
      }
      ProgramCosts costs = program_costs(scheduled, groups, routing, truth, cluster);
      set_slowdowns(slowdowns, costs);
      const moe::Timeline timeline = simulate(scheduled, costs, truth, cluster);
      moe::TimelineRows rows = moe::timeline_rows(scheduled, timeline, routing, groups);
      rows.timeline.run_id = ids.back();
      rows.timeline.kind = "measured";
      rows.timeline.iteration = iteration;
      db::insert(connection, rows.timeline, rows.ops, rows.spans);
      std::vector<db::Load> loads;
      const auto stored = micro_batches_apart ? routing : moe::add_micro_batches(routing);
      for (const moe::LayerRouting& layer : stored.layers) {
        for (int rank = 0; rank < 2; ++rank) {
          for (int expert = 0; expert < layer.experts; ++expert) {
            loads.push_back({ids.back(), iteration, layer.layer, rank, expert,
                             moe::tokens_from(layer, rank)[static_cast<std::size_t>(expert)],
                             std::nullopt, micro_batches_apart ? layer.micro_batch : -1});
          }
        }
      }
      db::insert(connection, loads);
    }
  }

  double worst_error() const {
    const Profile profile = profile_from_runs(connection, model, "", ids);
    double worst = 0;
    for (const auto& of_run : profile.errors) {
      for (const double error : of_run) worst = std::max(worst, std::abs(error));
    }
    return worst;
  }
};

}  // namespace tuner::test
