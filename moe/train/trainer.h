#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/ranks.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/program/timeline.h"
#include "moe/run/runner.h"
#include "moe/train/data.h"
#include "moe/train/move_experts.h"
#include "moe/train/planning.h"

namespace moe {

struct TrainOptions {
  int steps = 100;
  int evaluate_every = 0;    ///< iterations between held-out losses; 0 = only after the last
  int evaluate_batches = 4;  ///< global batches per held-out loss
  RunOptions run;
  Replan replan;  ///< asked on rank 0 after every iteration but the last; may be empty
  PlanningTurn planning = PlanningTurn::between;
};

/// One iteration over all ranks, as rank 0 reports it.
struct StepReport {
  int iteration = 0;  ///< from 1
  double loss = 0;
  double auxiliary_loss = 0;  ///< load balancing, of all layers
  double z_loss = 0;          ///< of all routers; 0 where the model does not weigh it
  std::optional<double> heldout_loss;
  double duration_s = 0;  ///< first begin to last end of any rank, on rank 0's clock
  std::int64_t dropped = 0;
  Routing routing;
  Timeline timeline;                                  ///< empty where spans are not recorded
  std::vector<std::int64_t> planned_peak_bytes;       ///< by rank
  std::vector<std::int64_t> planned_host_peak_bytes;  ///< by rank, of what is offloaded
  /// By rank: how far the arena was written to. Measured in the first iterations, which are warm-up
  /// in every report, and 0 in the others.
  std::vector<std::int64_t> touched_peak_bytes;
  std::vector<std::vector<std::int64_t>> sent_bytes;  ///< by rank and op, as communicators counted
};

/// Called on rank 0.
struct TrainObserver {
  /// Before the first iteration, and before the one that a new schedule begins with.
  std::function<void(int iteration, const Schedule&, const Program&)> schedule =
      [](int, const Schedule&, const Program&) {};
  /// When experts have moved to other ranks, before the iteration that needs them there; in no iteration's duration.
  std::function<void(int iteration, const ExpertTraffic&, double duration_s)> moved =
      [](int, const ExpertTraffic&, double) {};
  /// After every iteration.
  std::function<void(const StepReport&)> step = [](const StepReport&) {};
  /// After an iteration that a plan was made for: what planning has taken until now.
  std::function<void(const PlanningTime&)> planned = [](const PlanningTime&) {};
};

/// Trains from fresh parameters on this rank's share of the global batch. `program` is the iteration
/// of this rank with nothing scheduled, `schedule` what it begins with; they may change between
/// iterations, the same on every rank (TrainOptions::replan); experts whose homes change then are moved. Throws, on all ranks together:
/// NotFinite where a loss is not finite, with the parameters that gave it as they were; Stopped
/// after the iteration or held-out batch in which a signal asked any rank to end.
void train(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer);

}  // namespace moe
